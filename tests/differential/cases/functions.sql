-- Fields, units and zones that columns name; options of regular expressions; aggregates of what differs.
-- setup
CREATE TABLE fn_t (id integer, unit text, zone text, moment timestamptz, n numeric(6,2), k bigint);
INSERT INTO fn_t VALUES
  (1, 'year', 'UTC', '2024-02-29 12:34:56.789+00', 1.50, 3), (2, 'Hour', 'America/New_York', '2024-03-10 07:30+00', -1.50, -3),
  (3, 'week', 'Europe/Berlin', '1969-12-31 23:59:59.5+00', 1.50, 3), (4, NULL, NULL, NULL, NULL, NULL), (5, 'epoch', '+05:30', '0044-03-15 10:00+00 BC', 2.00, 7);
-- cases
SELECT id, date_part(unit, moment), extract(year FROM moment), extract(julian FROM moment AT TIME ZONE 'UTC') FROM fn_t ORDER BY id;
SELECT id, date_trunc(unit, moment), moment AT TIME ZONE zone FROM fn_t WHERE unit <> 'epoch' ORDER BY id;
SELECT id, date_trunc('day', moment, zone), date_add(moment, '1 day', zone), timezone(zone, moment::timestamp) FROM fn_t ORDER BY id;
-- error 22023
SELECT date_part('fortnight', moment) FROM fn_t;
-- error 22023
SELECT moment AT TIME ZONE 'Nowhere/Land' FROM fn_t;
SELECT date_part('fortnight', moment) FROM fn_t WHERE id = 4;
SELECT stddev(DISTINCT n), variance(DISTINCT k), var_pop(DISTINCT k), sum(DISTINCT n), avg(DISTINCT n) FROM fn_t;
SELECT json_agg(DISTINCT k), jsonb_agg(DISTINCT n), json_object_agg(DISTINCT k, n) FILTER (WHERE k IS NOT NULL) FROM fn_t;
SELECT sum(DISTINCT i), avg(DISTINCT i) FROM (VALUES (interval '1 day'), ('24:00:00'), ('2 days'), ('2 days')) AS v(i);
SELECT percentile_cont(ARRAY[0, 0.5, NULL]) WITHIN GROUP (ORDER BY k), percentile_disc(ARRAY[0.1, 0.9]) WITHIN GROUP (ORDER BY n DESC), percentile_disc('{}'::float8[]) WITHIN GROUP (ORDER BY k), mode() WITHIN GROUP (ORDER BY n) FROM fn_t;
SELECT percentile_cont(0.25) WITHIN GROUP (ORDER BY i), percentile_cont(ARRAY[0.5, 1]) WITHIN GROUP (ORDER BY i) FROM (VALUES (interval '1 day'), ('3 days 02:00'), ('1 mon')) AS v(i);
SELECT k, mode() WITHIN GROUP (ORDER BY 1.50), mode() WITHIN GROUP (ORDER BY 7 DESC), mode() WITHIN GROUP (ORDER BY 'a'::text) FILTER (WHERE k > 1), mode() WITHIN GROUP (ORDER BY '2024-01-01'::date), mode() WITHIN GROUP (ORDER BY NULL::text) FROM fn_t GROUP BY k;
SELECT dense_rank(1, 'b') WITHIN GROUP (ORDER BY a, b), rank(1, 'b') WITHIN GROUP (ORDER BY a, b DESC) FROM (VALUES (1, 'a'), (1, 'a'), (1, 'b'), (2, NULL)) AS v(a, b);
SELECT string_agg(unit, zone ORDER BY id), string_agg(unit, NULL ORDER BY id), string_agg(unit::bytea, zone::bytea ORDER BY id) FROM fn_t;
SELECT regexp_replace(E'one two\nthree', 't w o # comment', '[\&]', 'x'), regexp_count(E'a\nb', '^.', 1, 'n'), regexp_count(E'a\nb', 'a.b', 1, 'p'), regexp_count(E'a\nb', '^b', 1, 'w');
SELECT regexp_match('aab', '\(a\)\1', 'b'), regexp_match('a+b', 'a+b', 'q'), regexp_match('ab', '(?x) a b # all');
SELECT substring('foobar' SIMILAR '%#"o_b#"%' ESCAPE '#'), substring('foobar' FROM '#"o_b#"%' FOR '#'), substring('aabb' SIMILAR 'a#"%#"b' ESCAPE '#'), 'ab' SIMILAR TO 'a#"b#"' ESCAPE '#';
SELECT '\x616263'::bytea LIKE '\x6125'::bytea, '\x616263'::bytea NOT LIKE '\x255f62'::bytea;
SELECT to_char(2.5::float8, '9'), to_char(0.5::float8, '9D0'), to_char('NaN'::float8, '999'), to_char('-Infinity'::float8, '9999999999'), to_char(-0.25::float8, '0');
SELECT to_char(-12, 'L999'), to_char(5, 'B99'), to_char(interval '40 mons 3 days', 'YYYY MM DD Q J WW'), to_char(date '2024-05-01', 'TMMonth|Month|FMMonth');
SELECT nullif(1, 1.0), nullif(2, 2.5), width_bucket(5, ARRAY[1, 3, 5]), width_bucket(2.5, ARRAY[1.0, 2.5]);
-- error 22004
SELECT width_bucket(1, ARRAY[1, NULL]);
SELECT (-32768)::smallint % (-1)::smallint, 'x' || 0.50, concat(0.001), right('abc', -2147483648), unistr('d\0061ta');
-- error 42601
SELECT unistr('\d83d');
-- error 42883
SELECT convert('abc', 'WIN1252', 'LATIN1');
SELECT pg_client_encoding(), setseed(0.5), pg_sleep(0), pg_sleep_for('0'), pg_sleep_until('2000-01-01');
-- refused 0A000: a time to sleep that is not constant
SELECT pg_sleep(x) FROM (VALUES (0)) AS v(x);
-- error 42883
SELECT concat_ws(VARIADIC ARRAY['-', 'x', 'y']);
-- VARIADIC arrays in the place of values of any types
SELECT concat(VARIADIC ARRAY['a', 'b', NULL]), concat(VARIADIC NULL::text[]), concat(VARIADIC '{}'::integer[]), concat_ws(',', VARIADIC '{}'::integer[]);
SELECT json_build_array(VARIADIC ARRAY['a', NULL]), jsonb_build_array(VARIADIC '{{1,4},{2,5}}'::integer[]), json_build_object(VARIADIC '{a,1,b,NULL}'::text[]), jsonb_build_array(VARIADIC ARRAY['{"a": 1}'::jsonb]), json_build_array(VARIADIC NULL::text[]);
SELECT format('%2$s %1$s', VARIADIC ARRAY[1.5, 2.25]), format('Hello', VARIADIC NULL::integer[]), num_nulls(VARIADIC ARRAY[1, NULL, 3]), num_nonnulls(VARIADIC '{}'::integer[]);
SELECT concat(VARIADIC x), concat_ws('-', VARIADIC x) FROM (VALUES (ARRAY['a', 'b']), (ARRAY['c', NULL]), (NULL)) AS v(x);
-- error 22023
SELECT json_build_object(VARIADIC '{a}'::text[]);
-- error 42804
SELECT concat_ws(',', VARIADIC 10);
-- whether text is a value of a type
SELECT pg_input_is_valid('34', 'int4'), pg_input_is_valid('x', 'int4'), pg_input_is_valid(NULL, 'int4'), pg_input_is_valid('abcd', 'varchar(3)'), pg_input_is_valid('1234.567', 'numeric(7,4)'), pg_input_is_valid('{1,2', 'integer[]');
SELECT * FROM pg_input_error_info('1234.567', 'numeric(7,4)');
SELECT * FROM pg_input_error_info('{"a":true', 'json');
SELECT * FROM pg_input_error_info('34', 'integer');
SELECT (pg_input_error_info('garbage', 'date')).message, pg_input_error_info('(1,0)', 'int4range');
-- error 42704
SELECT pg_input_is_valid('1', 'nonesuch');
-- error 42601
SELECT pg_input_is_valid('1', 'int4 and more');
SELECT width_bucket(10.5::float8, -1.797e+308::float8, 1.797e+308::float8, 2), width_bucket(10.5::float8, 1.797e+308::float8, -1.797e+308::float8, 2);
-- error 22023
SELECT regexp_replace('A PostgreSQL function', 'a|e', 'X', 1, -1, 'i');
-- error 22023
SELECT unistr('wrong: \+2FFFFF');
-- of a column's items
CREATE TABLE fn_v (id integer, f text, a text[], n integer[], m integer[][], d numeric[], k text[]);
INSERT INTO fn_v VALUES (1, '%s-%I-%L', '{a,"B c",NULL}', '{1,2,NULL}', '{{1,2},{3,4}}', '{1.5,2.50}', '{a,1,b,2}'), (2, 'none', '{x,y}', '{}', '{}', NULL, '{}'), (3, 'none', NULL, NULL, NULL, '{}', NULL);
SELECT id, format(f, VARIADIC a), format('%1$s', VARIADIC n || 7), concat_ws(',', VARIADIC a), concat(VARIADIC n) FROM fn_v;
SELECT id, num_nulls(VARIADIC a), num_nonnulls(VARIADIC n), num_nulls(VARIADIC m), num_nonnulls(VARIADIC d) FROM fn_v;
SELECT id, json_build_array(VARIADIC a), jsonb_build_array(VARIADIC n), json_build_array(VARIADIC m), jsonb_build_array(VARIADIC d), json_build_object(VARIADIC k), jsonb_build_object(VARIADIC m) FROM fn_v;
-- error 22023
SELECT json_build_object(VARIADIC a) FROM fn_v;
-- error 22004
SELECT json_build_object(VARIADIC ARRAY[a[3], 'x']) FROM fn_v WHERE id = 1;
-- texts that are no constants, as values of a type
SELECT t, pg_input_is_valid(t, 'integer'), pg_input_is_valid(t, 'date'), pg_input_is_valid(t, 'integer[]'), pg_input_is_valid(t, 'timestamptz') FROM (VALUES ('1'), ('x'), ('2020-01-01'), ('{1,2}'), (NULL), ('2020-02-30')) AS v(t);
SELECT t, i.* FROM (VALUES ('1'), ('x'), ('99999999999'), (NULL)) AS v(t), LATERAL pg_input_error_info(t, 'integer') AS i;
SELECT t, (pg_input_error_info(t, 'json')).* FROM (VALUES ('{}'), ('{'), (NULL)) AS v(t);
SELECT pg_input_is_valid(NULL, 'integer'), pg_input_is_valid('1', NULL), pg_input_is_valid('12345', 'varchar(3)'), pg_input_is_valid('123.45', 'numeric(3,2)');
-- error 42704
SELECT pg_input_is_valid(t, 'nosuch') FROM (VALUES ('1')) AS v(t);
-- bytes of UTF-8 taken for others
SELECT to_ascii(chr(128 + n) || chr(300 + n) || chr(8000 + n), 'LATIN1'), to_ascii(chr(128 + n) || chr(300 + n), 'latin-2'), to_ascii(chr(128 + n) || chr(1300 + n), 16), to_ascii(chr(128 + n) || chr(500 + n), 'WIN1250') FROM generate_series(0, 127) AS n;
-- error 0A000
SELECT to_ascii('abc');
-- error 0A000
SELECT to_ascii('abc', 'KOI8R');
-- error 42704
SELECT to_ascii('abc', 99);
-- error 42704
SELECT to_ascii('abc', 'nope');
CREATE TABLE beside_nulls (k int, m money, z money, f float8, s text, n int, p int, i interval, ts timestamp, tz timestamptz, d date, kz timetz, a int[], bi bigint, nu numeric, b bytea);
INSERT INTO beside_nulls VALUES (1, NULL, '0', 0, NULL, -1, NULL, '1 mon', NULL, NULL, '-infinity', NULL, '{}', 0, 0, NULL), (2, '1', '2', 2, 'abc', 1, 2, '01:00', '2024-01-01', '2024-01-01 00:00+00', '2024-01-01', '01:00+00', '{1,2}', 1, 1.5, '\x0102'), (3, '5', NULL, NULL, 'abc', 0, NULL, NULL, 'infinity', 'infinity', NULL, '01:00+00', NULL, NULL, NULL, '\x01');
SELECT k, m / z, m / f, z * f, m / n FROM beside_nulls WHERE k <> 3;
SELECT k, substr(s, p, n), split_part(s, s, 0), overlay(s placing 'x' from 0), overlay(s placing 'x' from p for n) FROM beside_nulls WHERE s IS NULL;
SELECT k, timezone(i, ts), timezone(i, tz), timezone(i, kz), d + kz, age(ts, NULL), age(NULL, tz) FROM beside_nulls;
-- error 22023
SELECT k, g FROM beside_nulls, generate_series(p, n, n * 0) g;
SELECT k, g FROM beside_nulls, generate_series(ts, ts, i * 0) g WHERE k = 1;
SELECT k, g FROM beside_nulls, generate_series(NULL, nu, nu * 0) g;
SELECT generate_series(p, 1, 0), k FROM beside_nulls WHERE p IS NULL;
SELECT array_position(a, 1, p) FROM beside_nulls WHERE k <> 2;
-- error 22004
SELECT array_position(ARRAY[k], 1, p) FROM beside_nulls;
SELECT regexp_replace(s, '', 'x', 5, 0), regexp_replace(s, '', 'x', 4, 0), regexp_count(s, '', 5), substring(b, -2147483648), substring(b, 2) FROM beside_nulls;
DROP TABLE beside_nulls;
-- What tools ask a server for about recovery, its log and names of objects.
SELECT CASE WHEN pg_is_in_recovery() THEN pg_is_wal_replay_paused() ELSE false END, pg_last_wal_receive_lsn(),
    pg_last_wal_replay_lsn(), pg_last_xact_replay_timestamp(), pg_current_logfile(), pg_current_logfile('csvlog');
-- error 55000
SELECT pg_is_wal_replay_paused();
SELECT array_to_string(ARRAY['pg_class'::regclass, NULL], ', '), array_to_string(ARRAY['int4'::regtype, NULL], ',', '-'),
    array_to_string(NULL::regtype[], ',') IS NULL, array_to_string('{}'::regclass[], ',');
SELECT relkind, array_to_string(array_agg(oid::regclass ORDER BY oid), ', ') FROM pg_class
WHERE oid IN ('pg_type'::regclass, 'pg_proc'::regclass, 'pg_roles'::regclass) GROUP BY 1 ORDER BY 1;
