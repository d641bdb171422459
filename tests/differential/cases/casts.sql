-- Casts and literals: every pair that users meet, rounding, limits, and what is no value of the type.
-- cases
SELECT '42'::integer, ' 42 '::integer, '-0'::integer, '+7'::smallint, '0x1F'::integer, '1_000'::integer;
SELECT 1::text, 1.50::text, 1.5e10::float8::text, true::text, false::varchar(2), date '2024-02-29'::text;
SELECT 1.5::integer, 2.5::integer, -1.5::integer, -2.5::integer, 0.5::integer;
SELECT 1.5::float8::integer, 2.5::float8::integer, -0.5::float8::integer, 3.5::float4::integer;
SELECT 'abc'::char(5), 'abc'::char(2), 'abc'::char, 'abcdef'::varchar(3), 'x'::char(3) || '|';
SELECT 'a'::char(5) = 'a', length('ab  '::char(6)), octet_length('ab'::char(6));
SELECT 't'::boolean, 'yes'::boolean, 'off'::boolean, '1'::boolean, 'F'::boolean, 'tru'::boolean;
SELECT 1::boolean, 0::boolean, true::integer, (-5)::boolean;
SELECT 1.005::numeric(10,2), 2.675::numeric(3,2), -1.005::numeric(10,2), 0.00012::numeric(4,4);
SELECT 123456::numeric(10,-2);
SELECT '1e3'::numeric, '1.50'::numeric, '.5'::numeric, '-1.'::numeric;
SELECT 'NaN'::numeric, 'Infinity'::numeric, '-inf'::numeric;
SELECT '12345678901234567890123456789012345678'::numeric, 1e37, -1e37;
SELECT 1e400::numeric > 0;
SELECT 0.1::real, 0.1::real::float8, 16777217::real, 1e38::real, 123456.789::real;
SELECT 1e-45::real, 5e-324::float8, 1e308::float8;
SELECT '1e-400'::numeric = 0;
SELECT '2024-02-29'::date, 'Feb 29, 2024'::date, '20240229'::date, '29-Feb-2024'::date, 'infinity'::date;
SELECT '2024-02-29 23:59:60'::timestamp, '2024-02-29T01:02:03.4567899'::timestamp, '2024-02-29'::timestamp;
SELECT '04:05'::time, '24:00:00'::time, '04:05:06.789 PM'::time, '040506'::time;
SELECT '1 year 2 months 3 days 04:05:06.5'::interval, 'P1Y2M3DT4H5M6S'::interval, '-1 day +01:00'::interval, '1.5 hours'::interval;
SELECT timestamp '2024-02-29 12:34:56'::date, date '2024-02-29'::timestamp, timestamp '2024-02-29 12:34:56.789'::time;
SELECT timestamp '2024-02-29 12:34:56.789'::timestamp(0), '12:34:56.789'::time(1), timestamptz '2024-02-29 12:34:56.5+00'::timestamptz(0);
SELECT cast(3 AS numeric(5,2)), cast('x' AS text), cast(NULL AS date), CAST(1.9 AS bigint);
SELECT 2147483647::bigint, 2147483648, 9223372036854775807, 9223372036854775808, 1.0, 1e2;
SELECT NULL, NULL::integer, 'unknown', pg_typeof('x'), pg_typeof(NULL), pg_typeof(1.5), pg_typeof(2147483648);
SELECT 'glued'
  ' together' AS g, E'tab\there', E'\u00e9', U&'d\0061t', $$dollar 'quoted'$$, $q$a$$b$q$;
SELECT 'it''s', '\n', E'\\n';
SELECT B'101', X'ff';
SELECT int4 '7', float8 '1.5', numeric '1.20', bool 'on', interval '2' day, interval '1-2' year to month;
SELECT '{1,2}'::integer[]::text, 12::text || 34, 1 || 'x', 'x' || 1.50, 'x' || true, 'd' || date '2024-01-01';
SELECT 3::smallint + 4::bigint, 1::smallint + 1::smallint, 1 + 1.0, 1 + 1.0::real, 1.0 + 1.0::float8;
SELECT 10000000000::float8, 1e15::float8, 1e16::float8, 123456789.123::float8, 0.0001::float8, 0.00001::float8, 1e-7::float8;
SELECT 100000::real, 1000000::real, 1e6::real * 10, 0.0001::real, 1.17549435e-38::real;
SELECT 'name'::name, 1::oid, 'x'::text COLLATE "C";
-- error 22P02
SELECT 'abc'::integer;
-- error 22P02
SELECT ''::integer;
-- error 22P02
SELECT '1.5'::integer;
-- error 22P02
SELECT 'maybe'::boolean;
-- error 22P02
SELECT '1..5'::numeric;
-- error 22P02
SELECT 'x'::float8;
-- error 22003
SELECT 40000::smallint;
-- error 22003
SELECT '99999999999'::integer;
-- error 22003
SELECT 3e9::float8::integer;
-- error 22003
SELECT 'NaN'::float8::integer;
-- error 22003
SELECT 1e39::float8::real;
-- error 22003
SELECT '1e400'::float8;
-- error 22003
SELECT 1000::numeric(3,0);
-- error 0A000
SELECT 'NaN'::numeric::integer;
-- error 0A000
SELECT 'Infinity'::numeric::bigint;
-- error 22003
SELECT 9223372036854775808::bigint;
-- error 22008
SELECT '2023-02-29'::date;
-- error 22007
SELECT 'tomorrowish'::date;
-- error 22008
SELECT '2024-13-01'::date;
-- error 22008
SELECT '25:00:00'::time;
-- error 22007
SELECT 'abc'::interval;
-- error 22007
SELECT ''::timestamp;
-- error 42846
SELECT date '2024-01-01'::integer;
-- error 42846
SELECT 1.5::boolean;
-- error 42846
SELECT 1::date;
-- error 42704
SELECT 1::nosuchtype;
-- error 22023
SELECT 1::numeric(2000, 2);
-- error 22023
SELECT 'x'::varchar(0);

-- a NULL has its type's casts alone
-- error 42846
SELECT CAST(NULL::boolean AS interval);
-- error 42846
SELECT CAST(NULL::uuid AS numeric(5,2));
SELECT - '-0'::float8, - '-9223372036854775807'::int8;
-- error 22003
SELECT - '-9223372036854775808'::int8;
-- error 22003
SELECT - '-32768'::int2;
SELECT 'infinity'::timestamp::time, '-infinity'::timestamptz::time(2);
-- error 22007
SELECT '2024-02-29'::interval;
-- error 22012
SELECT pg_typeof(1 / 0);
-- error 22012
SELECT pg_typeof(1 / (g - 1)) FROM generate_series(1, 2) AS s(g);
-- error 21000
SELECT pg_typeof((SELECT 1 UNION SELECT 2));
SELECT pg_typeof(g + 1), pg_typeof(1 / g), pg_typeof((SELECT g::bigint)) FROM generate_series(1, 2) AS s(g);
SELECT (SELECT 1).text, (now()).date = current_date, ('2020-01-01'::date).timestamp, ('abc'::text).upper, (-1).abs;
-- error 42809
SELECT (1).nothing;
-- error 42809
SELECT money(7) OVER ();
-- error 42809
SELECT text(DISTINCT 7);
-- error 22023
SELECT 12345.678::bpchar(5,2);
-- error 22023
SELECT B'1'::bit(1,2);
-- error 0A000
SELECT '{1,x}'::record[];
