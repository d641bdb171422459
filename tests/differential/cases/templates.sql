-- to_date, to_timestamp and to_char by templates: what contradicts itself, partial years, weeks, far years, intervals below zero.
-- cases
SELECT to_date('2024 2024', 'YYYY YYYY'), to_date('May May', 'Mon Month'), to_date('2460000 5', 'J MM'), to_date('', 'YYYY');
-- error 22007
SELECT to_date('2024 2025', 'YYYY YYYY');
-- error 22007
SELECT to_date('12 11', 'HH12 HH24');
-- error 22007
SELECT to_timestamp('2024 5 6 12', 'YYYY MM DD MM');
SELECT to_date('AD 2024 BC', 'AD YYYY BC');
-- error 22007
SELECT to_date('2024 05', 'YYYY IW');
-- error 22007
SELECT to_date('2024 5', 'IYYY D');
-- error 22007
SELECT to_date('100', 'DDD');
-- error 22008
SELECT to_date('366 2023', 'DDD YYYY');
-- error 22008
SELECT to_date('31 04 2024', 'DD MM YYYY');
-- error 22008
SELECT to_timestamp('86400', 'SSSSS');
-- error 22008
SELECT to_timestamp('24:00', 'HH24:MI');
-- error 22008
SELECT to_timestamp('1.1234', 'SS.MS');
-- error 22007
SELECT to_timestamp('13:00 PM', 'HH24:MI PM');
-- error 22007
SELECT to_timestamp('2024 PM', 'YYYY PM');
-- error 22007
SELECT to_date('1999', 'Y,YYY');
-- error 22009
SELECT to_timestamp('2024 +16', 'YYYY TZH');
-- cases
SELECT to_date(y, 'YYY') FROM (VALUES ('7'), ('69'), ('70'), ('085'), ('100'), ('519'), ('520'), ('999'), ('1234')) AS v(y);
SELECT to_date('20 2', 'CC YY'), to_date('20 00', 'CC YY'), to_date('20 BC 5', 'CC BC Y'), to_date('20 BC', 'CC BC'), to_date('2024 20', 'YYYY CC');
SELECT to_date('1,999', 'Y,YYY'), to_date('1,999th', 'Y,YYYth'), to_date('3rd Jan 2024', 'DDth Mon YYYY'), to_date('30 02', 'DD MM');
SELECT to_date('2021', 'IYYY'), to_date('2021 300', 'IYYY IDDD'), to_date('2021 07 3', 'IYYY IW ID'), to_date('2024-05', 'IYYY-IW');
SELECT to_date('5 2024', 'WW YYYY'), to_date('15 2 2024', 'DD W YYYY'), to_date('2024 60 5', 'YYYY DDD MM'), to_date('2024 60 5', 'YYYY DDD DD');
SELECT to_timestamp('1.1', 'SS.MS'), to_timestamp('1.12', 'SS.US'), to_timestamp('1.12345', 'SS.FF3'), to_timestamp('5', 'FF1'), to_timestamp('86399 5', 'SSSS SS');
SELECT to_timestamp('10 am 2024', 'HH am YYYY'), to_timestamp('12 am', 'HH12 am'), to_timestamp('11:00 PM', 'HH24:MI PM'), to_timestamp('-05:30', 'TZH:TZM');
SELECT to_char(i, 'Q|DDD|FMDDD|WW|YYY|YY|Y,YYY|FMY,YYYth|DD') FROM (VALUES (interval '-30 days'), ('-1 mon'), ('-3 years 5 months'), ('-200 years'), ('14 months 40 days'), ('200 years')) AS v(i);
SELECT to_char(i, 'MS|FMMS|US|FF1|FF4|AM|SSSS|HH12|FMHH|HH24') FROM (VALUES (interval '-1.054321 s'), ('0.05 s'), ('-26:03:04'), ('13:00:00.000009'), ('-12:00'), ('-24:30')) AS v(i);
SET TimeZone = 'Europe/Berlin';
SELECT to_char(z, 'YYYY-MM-DD HH24 TZ OF'), to_char(z::date, 'CC') FROM (VALUES (timestamptz '9999-12-31 23:59:59+00'), ('10000-06-01'), ('0001-12-31 BC'), ('2024-07-01')) AS v(z);
RESET TimeZone;
SELECT to_char(z, 'HH24 TZ') FROM (VALUES (timestamptz '0001-12-31 BC'), ('290000-01-01')) AS v(z);
SELECT to_char(3.5, '9th'), to_char(2.5, 'FM9TH'), to_char(99.5, '999th'), to_char(0, '9th');
SELECT to_char(99999, '9.9EEEE'), to_char(99999::float8, '9.9EEEE'), to_char(99999::int8, '9.9EEEE'), to_char(9.96, '9.9EEEE'), to_char(-99999, '9EEEE'), to_char(25, '9EEEE'), to_char(0.35::float4, '9EEEE');
SELECT to_char(v, 'RN'), to_char(v::numeric, 'RN') FROM (VALUES (0.5::float8), (1.5), (2.5), (3.5)) AS v(v);
SELECT to_date('2024 07 Wednesday', 'IYYY IW Day'), to_date('2024 07 sun', 'IYYY IW Dy'), to_date('2024 07 0', 'IYYY IW ID'), to_date('2024 07 8', 'IYYY IW ID');
SELECT to_date('4714-11-24 BC', 'YYYY-MM-DD BC'), to_date('5874897-12-31', 'YYYY-MM-DD'), to_timestamp('4714-11-24 BC', 'YYYY-MM-DD BC'), to_date('24ad', 'JDBC');
SELECT to_char(timestamp '2024-01-01', 'FMOF'), to_char(interval '-250 years', 'Y YY YYY'), to_char(interval '3 days', 'IYY IY I');
-- error 22007
SELECT to_date('Tuesday 4', 'Day D');
-- error 22008
SELECT to_date('4714-11-23 BC', 'YYYY-MM-DD BC');
-- error 22008
SELECT to_timestamp('4714-11-23 BC', 'YYYY-MM-DD BC');
-- error 22008
SELECT to_timestamp('294277-01-01', 'YYYY-MM-DD');
-- error 22007
SELECT to_timestamp('2024 +16 13', 'YYYY TZH HH');
-- error 22007
SELECT to_timestamp('May th 5', 'Monthth DD');
-- cases
SELECT to_char(v, '9.9'), to_char(v, '90V99'), to_char(v, '9.9EEEE') FROM (VALUES (0.45::float4), (9.995), (0.35), ('-0'), (3e38)) AS v(v);
SELECT to_char(v, '9.9'), to_char(v, '90V99'), to_char(v, '9.9EEEE') FROM (VALUES (0.45::float8), (9.995), ('-0')) AS v(v);
SELECT to_date('2024-01-05', 'YYYY/MM/DD'), to_date('2024-01-05', 'YYYY MM DD'), to_date('2024/01-05', 'YYYY-MM/DD'), to_timestamp('2024-01-05 10:00-05', 'YYYY.MM.DD HH24:MITZH'), to_timestamp('2024-01-05 10:00-05', 'YYYY/MM/DD HH24:MI TZH');
SELECT to_char(2147483647.4, 'RN'), to_char(1e10::float8, 'RN');
-- error 22003
SELECT to_char(2147483647.5, 'RN');
-- error 22003
SELECT to_char(12345678901, 'RN');
-- error 22007
SELECT to_date('99-1-1', 'YYYYMMDD');
-- error 22007
SELECT to_date('209', 'YYYYMM');
SELECT to_date('20201', 'YYYY1');
-- error 22007
SELECT to_date(' ', 'YYYY');
-- error 22007
SELECT to_date('1999 -  ', 'YYYY -MM');
SELECT to_date('99 01 03', 'FMYYYYFMMMDD'), to_date('20th1', 'YYthMM'), to_date('1999', ''), to_date('1999  ', 'YYYYMon'), to_timestamp('720020', 'SSSSYY');
SELECT to_char(timestamp '2024-07-04 15:06:07', 'YYYY-MM-DDThh24:mi:ss'), to_char(timestamp '2024-07-04 15:06:07', 'DDThh DDThHH24 DDthHH Tmonth tmMonth FmDD fmDD FMDD'), to_char(interval '3 days 04:05', 'DDThh24');
SELECT to_timestamp('2024-07-04T15:06:07', 'YYYY-MM-DDThh24:mi:ss');
-- error 42601
SELECT to_char(1, 'SMI9');
-- error 42601
SELECT to_char(1, '9MIS');
-- error 42601
SELECT to_char(1, 'S9PR');
-- error 42601
SELECT to_char(1, '9MIPR');
-- error 42601
SELECT to_char(1, 'S9SG');
-- error 42601
SELECT to_char(1, '9.9V9');
-- error 42601
SELECT to_number('1', '9V9.9');
SELECT to_char(12, '99V000'), to_char(12, '99V099'), to_char(12, '0V9');
SELECT to_char(14, 'FMRN.'), to_char(14, '"Chapter "FMRN": "'), to_char(4, 'RN%'), to_char(0, 'x rn'), to_char(14, 'FMRN'), to_char(3.5, 'rn');
-- Templates and texts that do not match: blanks, signs and letters between fields, FX, and what is told twice.
SELECT to_date('  2020-02-29', 'YYYY-MM-DD'), to_date('2020  02 / 29', 'YYYY/MM/DD'), to_date('2020x02', 'YYYY"T"MM'), to_date('2020 02', 'YYYY"T"MM'), to_date('2020-02', 'YYYY "x"MM'), to_date('a2020', '"b"YYYY');
SELECT to_date('2020/02/29', 'FXYYYY-MM-DD'), to_date('2020.02', 'YYYYFX"T"MM'), to_date('', 'FX'), to_char(DATE '2020-02-29', 'FXYYYY FX'), to_timestamp('12:30 -03', 'FXHH24:MI TZH'), to_timestamp('12:30 -3', 'HH24:MITZH');
-- error 22007
SELECT to_date('2020-  Feb', 'FXYYYY-Mon');
-- error 22007
SELECT to_date('99-60/99', 'YY:DDD-YY');
SELECT to_date('99 1999', 'YY YYYY'), to_date('020 2020', 'YYY YYYY'), to_timestamp('Sat 7', 'Dy D'), to_timestamp('5 050', 'MS US');
SELECT to_date('mar/9366', 'Mon/YDDD'), to_date('2458909 5 3', 'J MM DD');
-- error 22008
SELECT to_date('2458909 2 31', 'J MM DD');
-- error 22008
SELECT to_date('2019 366', 'YYYY DDD');
-- error 22007
SELECT to_timestamp('13 13', 'MM HH12');
-- error 22008
SELECT to_date('99999999999', 'YYYY');
