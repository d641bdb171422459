select x + 1, x - 1, 1 + x, x - date '2020-01-01', x + interval '1 month', x - interval '1 day 2 hours', x + time '10:00' from (values ('2020-01-31'::date), ('2020-02-29'), ('1999-12-31'), (null)) v(x)
date 'infinity' + 1, date '-infinity' - 5
date 'infinity' - date '2020-01-01'
date '2020-01-01' + 2147483647
select x + interval '1 month', x - interval '1 year', x + interval '1 day', x + interval '36 hours', x - timestamp '2020-01-01 12:00' from (values ('2020-01-31 10:00'::timestamp), ('2020-02-29 23:59:59.5'), (null)) v(x)
timestamp 'infinity' + interval '1 day', timestamp '-infinity' - interval '1 month'
timestamp 'infinity' - timestamp '2020-01-01'
timestamp '290000-01-01' + interval '10000 years'
time '10:00' + interval '25 hours', time '10:00' - interval '11 hours', time '10:00' - time '12:30', time '00:00' + interval '1 day -1 second', interval '1 hour' + time '23:30'
interval '1 day' + interval '2 hours', interval '1 month' - interval '2 days', - interval '1 mon -2 days 3 hours', interval '1 day' + date '2020-01-01', time '01:00' + date '2020-01-01'
select x * 2, x * 1.5, x * 0.1, x * -1, x / 2, x / 3, x / 0.7, 2.5 * x from (values ('1 month'::interval), ('1 day'), ('1 year 3 days 04:05:06'), ('-1 mon +1 day'), ('00:00:01'), ('10 days'), (null)) v(x)
interval '1 day' / 0
interval '1 year' * 1e10
select x = interval '30 days', x < interval '1 month 1 second', x > interval '0' from (values ('1 month'::interval), ('720 hours'), ('29 days 24:00:00')) v(x)
select age(x, timestamp '2020-02-29'), age(timestamp '2020-02-29 12:00', x) from (values ('2020-03-31'::timestamp), ('1957-06-13'), ('2020-02-29'), ('2021-02-28 11:00'), ('2019-12-31 23:59:59.999'), (null)) v(x)
select extract(year from x), extract(month from x), extract(day from x), extract(quarter from x), extract(week from x), extract(isoyear from x), extract(dow from x), extract(isodow from x), extract(doy from x), extract(decade from x), extract(century from x), extract(millennium from x), extract(epoch from x), extract(julian from x) from (values ('2020-02-29'::date), ('2021-01-03'), ('2000-12-31'), ('2001-01-01'), ('1970-01-01'), ('1969-12-31'), ('0001-01-01'), ('0001-01-01 BC'), ('0044-03-15 BC'), ('0100-12-31 BC'), (null)) v(x)
select extract(hour from x), extract(minute from x), extract(second from x), extract(milliseconds from x), extract(microseconds from x), extract(epoch from x), extract(year from x), extract(century from x), extract(dow from x), extract(week from x) from (values ('2020-02-29 12:34:56.789012'::timestamp), ('1960-01-01 00:00:00'), ('1999-12-31 23:59:59.999999'), (null)) v(x)
extract(hour from date '2020-01-01')
extract(nonsense from timestamp '2020-01-01')
extract(timezone from timestamp '2020-01-01')
extract(month from time '10:00')
select extract(hour from x), extract(minute from x), extract(second from x), extract(epoch from x), extract(milliseconds from x) from (values ('12:34:56.5'::time), ('24:00'), ('00:00'), (null)) v(x)
select extract(year from x), extract(month from x), extract(day from x), extract(hour from x), extract(minute from x), extract(second from x), extract(epoch from x), extract(quarter from x), extract(decade from x), extract(century from x), extract(millennium from x), extract(milliseconds from x) from (values ('1 year 14 mons 40 days 30:05:06.789'::interval), ('-1 mon -3 days -04:05:06.5'), ('0'), ('2500 years'), (null)) v(x)
select date_part('year', x), date_part('month', x), date_part('second', x), date_part('epoch', x), date_part('hour', x), date_part('dow', x) from (values ('2020-02-29 12:34:56.789'::timestamp), ('infinity'), ('-infinity'), (null)) v(x)
date_part('hour', date '2020-01-01'), date_part('day', interval '3 days'), date_part('second', time '10:00:01.5'), date_part('Years', date '2020-01-01')
select date_trunc('second', x), date_trunc('minute', x), date_trunc('hour', x), date_trunc('day', x), date_trunc('week', x), date_trunc('month', x), date_trunc('quarter', x), date_trunc('year', x), date_trunc('decade', x), date_trunc('century', x), date_trunc('millennium', x), date_trunc('milliseconds', x) from (values ('2020-08-29 12:34:56.789012'::timestamp), ('2000-12-31 23:59:59.9'), ('2001-01-01'), ('1969-07-20 20:17:40'), (null)) v(x)
date_trunc('month', timestamp 'infinity')
date_trunc('dow', timestamp '2020-01-01')
date_trunc('nonsense', timestamp '2020-01-01')
select date_trunc('hour', x), date_trunc('day', x), date_trunc('month', x), date_trunc('quarter', x), date_trunc('year', x), date_trunc('decade', x), date_trunc('second', x) from (values ('14 mons 40 days 30:05:06.789'::interval), ('-14 mons -3 days -04:05:06.5'), (null)) v(x)
date_trunc('week', interval '10 days')
date_bin('15 minutes', timestamp '2020-02-11 15:44:17', timestamp '2001-01-01'), date_bin('15 minutes', timestamp '2020-02-11 15:44:17', timestamp '2001-01-01 00:02:30'), date_bin('2 days', timestamp '1999-02-11 15:44:17', timestamp '2001-01-01')
date_bin('1 month', timestamp '2020-02-11', timestamp '2001-01-01')
date_bin('-1 day', timestamp '2020-02-11', timestamp '2001-01-01')
make_date(2020, 2, 29), make_date(-44, 3, 15), make_time(8, 15, 23.5), make_timestamp(2020, 2, 29, 8, 15, 23.5), make_time(24, 0, 0)
make_date(2021, 2, 29)
make_date(0, 1, 1)
make_date(2020, 13, 1)
make_time(25, 0, 0)
make_interval(), make_interval(1), make_interval(1, 2, 3, 4, 5, 6, 7.5), make_interval(0, 0, 0, -1)
select to_timestamp(x) from (values (0), (1.5), (-1), (1284352323.123456), ('infinity'::float8), (null)) v(x)
to_timestamp('NaN'::float8)
select isfinite(x) from (values ('2020-01-01'::date), ('infinity'), (null)) v(x)
isfinite(timestamp 'infinity'), isfinite(interval '1 day'), isfinite(timestamptz '2020-01-01')
select justify_days(x), justify_hours(x), justify_interval(x) from (values ('35 days'::interval), ('27:00:00'), ('1 mon -1 hour'), ('-65 days +25 hours'), ('-1 mon 31 days'), (null)) v(x)
(date '2001-02-16', date '2001-12-21') overlaps (date '2001-10-30', date '2002-10-30'), (date '2001-02-16', interval '100 days') overlaps (date '2001-10-30', date '2002-10-30'), (date '2001-10-29', date '2001-10-30') overlaps (date '2001-10-30', date '2001-10-31'), (date '2001-10-30', date '2001-10-30') overlaps (date '2001-10-30', date '2001-10-31'), (time '10:00', time '11:00') overlaps (time '10:30', interval '1 hour')
select (a, b) overlaps (c, d) from (values (timestamp '2020-01-01', timestamp '2020-01-05', timestamp '2020-01-03', null::timestamp), (null, '2020-01-05', '2020-01-03', '2020-01-08'), ('2020-01-09', '2020-01-05', '2020-01-03', '2020-01-08'), ('2020-01-01', null, '2020-01-03', null), ('2020-01-01', '2020-01-02', null, null)) v(a, b, c, d)
select * from generate_series(timestamp '2020-01-01', timestamp '2020-01-02', interval '6 hours')
select * from generate_series(timestamp '2020-01-31', timestamp '2020-05-31', interval '1 month')
select * from generate_series(timestamp '2020-01-02', timestamp '2020-01-01', interval '-12 hours')
select * from generate_series(timestamp '2020-01-01', timestamp '2020-01-02', interval '0')
date '2020-01-01' < timestamp '2020-01-01 00:00:01', date '2020-01-01' = timestamp '2020-01-01', timestamp '2020-01-01' > date '2019-12-31', greatest(date '2020-01-01', date '2021-01-01')
timestamp '2020-07-01 12:00' at time zone 'America/New_York', timestamptz '2020-07-01 12:00+00' at time zone 'America/New_York', timestamp '2020-07-01 12:00' at time zone 'EST', timestamptz '2020-07-01 12:00+00' at time zone 'PST8PDT', timestamp '2020-07-01 12:00' at time zone '+05:30', timestamp '2020-07-01 12:00' at time zone interval '-3 hours', timestamptz '2020-07-01 12:00+00' at time zone 'UTC', timestamp '2020-07-01 12:00' at time zone 'utc'
timestamp '2020-07-01' at time zone 'Nowhere/None'
make_timestamptz(2020, 7, 1, 12, 0, 0, 'Europe/Berlin'), date_trunc('day', timestamptz '2020-07-01 02:00+00', 'America/New_York'), date_add(timestamptz '2021-10-31 00:00:00+02', interval '1 day', 'Europe/Warsaw'), date_subtract(timestamptz '2021-11-01 00:00:00+01', interval '1 day', 'Europe/Warsaw')
-- zone America/New_York
select extract(hour from x), extract(timezone from x), extract(timezone_hour from x), extract(timezone_minute from x), extract(epoch from x), extract(day from x), date_part('hour', x), extract(dow from x), extract(year from x) from (values ('2020-07-01 02:00+00'::timestamptz), ('2020-01-01 02:00+00'), (null)) v(x)
select date_trunc('day', x), date_trunc('hour', x), date_trunc('month', x), date_trunc('year', x), date_trunc('week', x), date_trunc('century', x) from (values ('2020-07-01 02:00+00'::timestamptz), ('2020-03-08 12:00+00'), ('2020-11-01 06:30+00'), (null)) v(x)
select x + interval '1 day', x + interval '24 hours', x + interval '1 month', x - interval '1 day', x - timestamptz '2020-01-01 00:00+00' from (values ('2020-03-07 12:00'::timestamptz), ('2020-10-31 12:00'), ('2020-01-31 12:00'), (null)) v(x)
select x < y, x = y, x > y::date from (values (timestamptz '2020-07-01 00:00', timestamp '2020-07-01 00:00'), (timestamptz '2020-07-01 00:00+00', timestamp '2020-07-01 00:00')) v(x, y)
select age(x, timestamptz '2020-01-01 00:00+00') from (values ('2020-07-01 02:00+00'::timestamptz), ('2019-07-01 02:00+00')) v(x)
make_timestamptz(2020, 7, 1, 12, 0, 0), to_timestamp(0), timestamp '2020-07-01 12:00' at time zone 'Asia/Kolkata', date_bin('1 day', timestamptz '2020-07-01 02:00+00', timestamptz '2020-01-01 00:00+00')
select * from generate_series(timestamptz '2020-03-07 12:00', timestamptz '2020-03-10 12:00', interval '1 day')
timezone('America/New_York', timestamp '2020-03-08 02:30'), timezone('America/New_York', timestamp '2020-11-01 01:30'), timezone('Europe/Berlin', timestamp '2020-10-25 02:30')
select date_trunc('hour', x), date_trunc('minute', x), date_trunc('day', x) from (values ('2024-11-03 05:30+00'::timestamptz), ('2024-11-03 06:30+00'), ('2024-03-10 07:30+00'), ('infinity')) v(x)
-- zone UTC
date '5874897-12-31' + 1
date '4714-11-24 BC' - 1
-- operands that are named, for their length
select date_bin('15 minutes', t + n * interval '1 day 2 hours' - n * interval '3 minutes' + interval '1 second', t - n * interval '1 year 3 minutes 20 seconds' + interval '1 second'), make_date(n * 3 + 2000 - n * n + abs(n) * 2 - n, abs(n) % 12 + 1 + n * n - n * n, 1 + abs(n) * 2 + n - n), make_timestamp(2000 + n * n - n * n + abs(n), 1 + abs(n) % 12, 1 + abs(n) + n - n + n - n, n * n + 1, 3 + abs(n) - n, 1.5 * n * n) from (values (timestamp '2020-02-29 10:00', 1), (timestamp 'infinity', 2), (null, 3), (timestamp '2001-01-01', null)) v(t, n)
select make_date(2021, 2 + n - n * n + n * n, 20 + n * 3 - n + n * n - n * n + n) from (values (1), (9)) v(n)
