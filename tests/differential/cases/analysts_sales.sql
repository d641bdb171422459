-- What analysts type, over sales: grouping, windows, formats, arrays, JSON, ranges, sets, and what goes wrong.
-- setup
CREATE TABLE ap_s (region text, product text, sold date, units int, revenue numeric(12,2), discount real, meta jsonb, dims int[], win int4range, code char(6));
INSERT INTO ap_s VALUES
 ('north', 'anvil', '2024-01-03', 5, 50.00, 0.1, '{"k": [1, 2, {"z": null}], "t": "2024-01-03T10:00:00"}', '{1,2,3}', '[1,5)', 'A1'),
 ('north', 'rope', '2024-01-17', 12, 36.00, NULL, '{"k": [], "t": "bad"}', '{4}', '[3,8)', 'B22'),
 ('south', 'anvil', '2024-02-01', 7, 70.70, 0.25, NULL, '{}', 'empty', 'A1'),
 ('south', 'anvil', '2024-02-28', 0, 0.00, 0, '{"a": {"b": {"c": 1.10}}}', NULL, NULL, NULL),
 ('east', 'glue', '2024-03-10', 100, 199.99, 0.5, '[1, 2.0, "3", null, true]', '{7,NULL,9}', '(,10]', 'C333'),
 ('east', 'rope', '2023-12-31', 3, 9.99, 0.05, '"s"', '{1,1,1}', '[5,)', 'D'),
 (NULL, 'glue', NULL, NULL, NULL, NULL, '{}', '{3,2,1}', '[2,2]', '');
-- cases
SELECT region, product, sum(revenue), grouping(region, product) FROM ap_s GROUP BY CUBE (region, product) ORDER BY 4, 1 NULLS LAST, 2 NULLS LAST;
SELECT region, sum(units) AS u, sum(sum(units)) OVER (ORDER BY region NULLS LAST ROWS UNBOUNDED PRECEDING) FROM ap_s GROUP BY region;
SELECT product, units, units - lag(units, 2, -1) OVER (PARTITION BY product ORDER BY sold NULLS FIRST), revenue / sum(revenue) OVER (PARTITION BY product) FROM ap_s WHERE revenue IS NOT NULL;
SELECT sold, sum(revenue) OVER (ORDER BY sold RANGE BETWEEN '15 days' PRECEDING AND '15 days' FOLLOWING), count(*) OVER (ORDER BY sold GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW) FROM ap_s;
SELECT product, first_value(revenue) OVER (PARTITION BY product ORDER BY revenue DESC NULLS LAST), last_value(revenue) OVER (PARTITION BY product ORDER BY revenue DESC NULLS LAST ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) FROM ap_s;
SELECT region, string_agg(product, ',' ORDER BY product) FILTER (WHERE units > 4), array_agg(units ORDER BY units DESC NULLS LAST) FROM ap_s GROUP BY region;
SELECT to_char(sold, 'TMMonth YYYY'), to_char(sold, 'FMDDth "of" FMMonth'), to_char(sold, 'D ID WW IW CC'), to_char(sold, 'YY Y,YYY BC') FROM ap_s;
SELECT sold, sold - date_trunc('year', sold)::date + 1, extract(days FROM date_trunc('month', sold) + interval '1 month' - date_trunc('month', sold)), sold + (7 - extract(isodow FROM sold)::int) FROM ap_s;
SELECT revenue, to_char(revenue, 'L99,999.99'), to_char(revenue, 'S000.0'), to_char(revenue, 'FM$999G990.00'), to_char(units, 'FM000'), to_char(discount, '0.99'), to_char(-units, '999MI') FROM ap_s;
SELECT discount, discount * 100, round(discount::numeric, 1), discount::text, discount = 0.1, discount::float8 FROM ap_s;
SELECT code, length(code), code || '|', octet_length(code), code = 'A1', code LIKE 'A1%', upper(lower(code)), code::text || '|' FROM ap_s;
SELECT meta -> 'k' -> 2 -> 'z', meta #>> '{k,0}', meta -> 'k' -> -1, meta -> 1, meta ->> 1, jsonb_typeof(meta), meta @> '[2]', meta ? 's' FROM ap_s;
SELECT jsonb_pretty(meta), meta::text, meta::json::text FROM ap_s;
SELECT key, jsonb_typeof(value) FROM ap_s, jsonb_each(CASE WHEN jsonb_typeof(meta) = 'object' THEN meta END);
SELECT jsonb_path_query(meta, '$.k[*] ? (@.type() == "number")'), product FROM ap_s;
SELECT jsonb_path_query_first(meta, '$.**.c'), jsonb_path_query_array(meta, '$[*] ? (@ != null)'), meta @? '$.a.b.c ? (@ > 1)' FROM ap_s;
SELECT dims, dims[2:], dims || 5, 5 || dims, array_append(dims, NULL), array_positions(dims, 1), array_ndims(dims), 1 = ALL(dims), 3 <> ALL(dims), dims::text[], array_to_json(dims) FROM ap_s;
SELECT (SELECT sum(d) FROM unnest(dims) AS d), (SELECT array_agg(d ORDER BY d DESC NULLS LAST) FROM unnest(dims) AS d), (SELECT max(d) - min(d) FROM unnest(dims) d) FROM ap_s;
SELECT win, lower(win), upper(win), win @> 4, win && '[4,6)', win * '[2,6)', win << '[20,30)', isempty(win), upper_inf(win) FROM ap_s;
SELECT region, count(*) FILTER (WHERE win @> 3), range_intersect_agg(win) FROM ap_s GROUP BY region;
SELECT x.product, y.product FROM ap_s AS x, ap_s AS y WHERE x.win && y.win AND x.product < y.product;
SELECT product, percentile_cont(0.25) WITHIN GROUP (ORDER BY units), percentile_disc(0.75) WITHIN GROUP (ORDER BY sold), mode() WITHIN GROUP (ORDER BY region) FROM ap_s GROUP BY product;
SELECT count(DISTINCT region) FILTER (WHERE units > 3), count(DISTINCT (region, product)), sum(DISTINCT units), avg(DISTINCT revenue), string_agg(DISTINCT product, '') FROM ap_s;
SELECT bool_and(units > 0), bool_or(units > 50), every(revenue >= 0), bit_xor(units), max(code), max(dims) FROM ap_s;
SELECT product FROM ap_s GROUP BY product HAVING sum(units) > 10 AND count(*) FILTER (WHERE discount IS NULL) = 0 ORDER BY sum(revenue) DESC;
SELECT * FROM (SELECT region, sold, units FROM ap_s) AS t(r, s, u) WHERE u = (SELECT max(units) FROM ap_s WHERE region = t.r);
SELECT region, (SELECT json_agg(row_to_json(x)) FROM (SELECT product, units FROM ap_s i WHERE i.region = o.region ORDER BY product, units) AS x) FROM ap_s AS o GROUP BY region;
SELECT json_object_agg(region, u) FROM (SELECT region, sum(units) AS u FROM ap_s WHERE region IS NOT NULL GROUP BY region ORDER BY region) AS s;
WITH t AS (SELECT region, product, sum(units) AS u FROM ap_s GROUP BY 1, 2) SELECT region, max(u) FILTER (WHERE product = 'anvil') AS anvil, max(u) FILTER (WHERE product = 'rope') AS rope, max(u) FILTER (WHERE product = 'glue') AS glue FROM t GROUP BY region;
WITH RECURSIVE tree(id, parent, path) AS (SELECT 1, NULL::int, ARRAY[1] UNION ALL SELECT n, t.id, path || n FROM tree t, generate_series(t.id * 2, t.id * 2 + 1) AS n WHERE n < 8) SELECT id, parent, path, array_length(path, 1), array_to_string(path, '>') FROM tree ORDER BY path;
WITH RECURSIVE fib(a, b) AS (VALUES (0::numeric, 1::numeric) UNION ALL SELECT b, a + b FROM fib WHERE b < 1000) SELECT array_agg(a), sum(a), max(b) FROM fib;
SELECT s.n, s.w FROM unnest(string_to_array('the quick  brown', ' ')) WITH ORDINALITY AS s(w, n) WHERE s.w <> '';
SELECT ('{"a": 1}'::jsonb || '{"b": [true]}') - 'a', '{"a": {"b": 1}}'::jsonb #- '{a,b}', '[1, 2, 3]'::jsonb - 1, '["a", "b"]'::jsonb - 'a', '{"a": 1, "b": 2}'::jsonb - ARRAY['a', 'b'];
SELECT jsonb_insert('{"a": [1, 2]}', '{a,1}', '9'), jsonb_insert('{"a": [1, 2]}', '{a,1}', '9', true), jsonb_set('{"a": 1}', '{b}', '2', false), jsonb_set_lax('{"a": 1}', '{a}', NULL, true, 'delete_key');
SELECT json_typeof('[1]'), json_array_length('[1, [2, 3]]'), json_extract_path_text('{"a": {"b": "c"}}', 'a', 'b'), json_strip_nulls('{"a": null, "b": {"c": null}}'), to_json('x"y'::text), to_json(1.50), to_jsonb(timestamp '2024-01-02 03:04:05');
SELECT JSON_OBJECT('a': 1, 'b': NULL), JSON_ARRAY(1, 'x', NULL), JSON_OBJECTAGG('k': 1), JSON_ARRAYAGG(x ORDER BY x DESC) FROM (VALUES (1), (2)) AS v(x);
SELECT '1' IS JSON, 'x' IS JSON, '{"a": 1}' IS JSON OBJECT, '[1]' IS JSON ARRAY, '1' IS JSON SCALAR, '{"a": 1, "a": 2}' IS JSON WITH UNIQUE KEYS;
SELECT upper('straße'), lower('ÀÉÎ'), initcap('o''neil mc-donald 3rd'), length('日本語'), octet_length('日本語'), reverse('añb'), substring('日本語' from 2 for 1), position('本' in '日本語'), lpad('日', 3, '*');
SELECT 'abc' < 'ABC', 'a' < 'b', 'Z' < 'a', 'é' > 'z', 'a b' < 'ab', '' < 'a', 'abc' BETWEEN 'abb' AND 'abd', 'x' || NULL, concat('x', NULL, 1, true), concat_ws('-', 'a', NULL, 'b');
SELECT trim(leading '0' from '000120'), trim(trailing '0' from '1.500'), rtrim('xxyx', 'x'), split_part('a,b,c', ',', -1), split_part('a,b', ',', 5), string_to_array('a,,b', ',', ''), string_to_array('abc', NULL), string_to_array('', ','), array_to_string(ARRAY[1, NULL, 3], ',');
SELECT regexp_match('2024-02-29', '(\d+)-(\d+)-(\d+)'), (regexp_match('key: val', '(\w+):\s*(\w+)'))[2], regexp_replace('a1b2', '\d', '<\&>', 'g'), regexp_replace('abc', 'B', 'x', 'i'), regexp_split_to_array('a1b22c', '\d+'), regexp_like('Foo', '^f', 'i'), regexp_count('banana', 'an'), regexp_substr('banana', 'n.', 1, 2);
SELECT 'foobar' SIMILAR TO '%o(b|x)a_', substring('foobar' similar '%#"o_b#"%' escape '#'), 'a_c' LIKE 'a\_c', 'a%c' LIKE 'a!%c' ESCAPE '!', 'ABC' ILIKE 'a_c', 'x' NOT LIKE '%y%', 'foo' ~~ 'f%', 'foo' !~~* 'F%';
SELECT encode('abc'::bytea, 'base64'), encode(decode('616263', 'hex'), 'escape'), get_byte('abc'::bytea, 1), length('\x0102'::bytea), '\x01'::bytea || '\x02', substring('\x010203'::bytea from 2), md5('abc'), encode(sha256('abc'), 'hex');
SELECT 1.5::int, 2.5::int, -1.5::int, 2.5::float8::int, 3.5::float8::int, '3.7'::numeric::int, 1e10::bigint, round(2.5), round(-2.5), round(2.5::float8), round(1234.567, -2), trunc(-1.7), ceil(-1.2), floor(-1.2);
SELECT 5 / 2 * 2.0, 5 / 2.0, 5 % 3, -5 % 3, 5.5 % 2, power(2, -1), 2 ^ 3 ^ 2, -2 ^ 2, 10 / 3::numeric(5,2), 1::numeric / 3, 2.0 * 3.00, 1.10 + 1.1, 10.0 - 0.10;
SELECT sum(x), avg(x), round(avg(x), 3), stddev(x), sum(x) / count(*), max(x) - min(x) FROM (VALUES (1), (2), (4)) AS v(x);
SELECT sum(x), avg(x), sum(x::numeric(6,3)), avg(x::real), sum(x::float8) FROM (VALUES (0.1), (0.2), (0.3)) AS v(x);
SELECT numeric '12345678901234567890.123456789' * 2, numeric '0.000000000000000001' + 1, 99999999999999999999::numeric + 1, 1e-10::numeric, 1e15::numeric / 7, numeric '1' / 7 * 7;
SELECT scale(1.500), min_scale(1.500), trim_scale(1.500), width_bucket(5.35, 0.024, 10.06, 5), width_bucket(3, ARRAY[1, 3, 5]), sign(-2.5), abs(-0.0), gcd(0, 5), lcm(6, 0), 0.0 = 0.00, 1.0::text = '1.0';
SELECT random() BETWEEN 0 AND 1, setseed(0.5) IS NULL, floor(random() * 0), (SELECT count(*) FROM generate_series(1, 10) WHERE random() < 2);
SELECT now() = transaction_timestamp(), current_date = now()::date, clock_timestamp() >= now(), extract(timezone FROM now()), localtimestamp = now()::timestamp, date 'today' = current_date, timestamp 'yesterday' < now();
SELECT timestamptz '2024-03-10 12:00+00' AT TIME ZONE 'America/New_York', timestamp '2024-03-10 02:30' AT TIME ZONE 'America/New_York', timestamptz '2024-07-01 00:00+02' = timestamptz '2024-06-30 22:00Z', extract(hour FROM timestamptz '2024-01-01 00:00-05'), timestamptz '2024-01-31 00:00Z' + interval '1 month';
SELECT timestamp '2024-02-29 12:34:56.789' - interval '1 year', date_trunc('week', timestamp '2024-02-29'), date_trunc('decade', date '2024-02-29'), date_part('century', date '2000-12-31'), extract(millennium FROM date '2001-01-01'), extract(julian FROM date '2024-02-29'), extract(microseconds FROM time '01:02:03.000456');
SELECT interval '1 year 2 mons 3 days 04:05:06.789', interval '1-2', interval '3 4:05', interval '-1.5 months', interval '1 week 2 days ago', make_interval(months => 14, days => 3), interval '25:51:00', interval '1 hour' * 1.5, interval '1 month' / 2, extract(month FROM interval '14 months');
SELECT (date '2024-01-01', date '2024-02-01') OVERLAPS (date '2024-01-31', interval '1 day'), isfinite(timestamp 'infinity'), date 'infinity' > date '2024-01-01', age(date '2024-02-29', date '2023-02-28'), time '23:30' + interval '1 hour', time '10:00' - time '12:30', timestamp '2024-01-01' + time '10:30';
SELECT to_char(timestamp '2024-02-29 15:04:05.678', 'YYYY-MM-DD"T"HH24:MI:SS.US'), to_char(timestamp '2024-02-29 15:04:05', 'HH:MI:SS p.m.'), to_char(interval '26:03:04', 'HH24:MI'), to_char(date '2024-02-05', 'FMDD FMMM YY'), to_char(timestamp '2024-02-29', 'SSSS FF3 TZ'), to_char(1234.5, 'FM9G999D00'), to_char(0.5, 'FM990.0%');
SELECT coalesce(NULL, NULL, 3), nullif('a', 'a'), greatest(1, NULL, 3), least('b', 'a'), num_nulls(1, NULL, 2), num_nonnulls(NULL, 1), NULL IS DISTINCT FROM 1, NOT NULL::bool, true AND NULL, false AND NULL, true OR NULL;
SELECT CASE WHEN x > 1 THEN x / (x - 1) ELSE 0 END, CASE x WHEN 1 THEN 'one' WHEN 2 THEN 'two' ELSE 'many' END, (x > 1)::int, bool(x - 1) FROM (VALUES (1), (2), (3)) AS v(x);
SELECT ARRAY[1, 2] || ARRAY[3], ARRAY[1, 2] @> ARRAY[2], (ARRAY[[1, 2], [3, 4]])[2][1], array_length(ARRAY[[1, 2, 3]], 2), array_fill(0, ARRAY[2, 2]), ARRAY(SELECT generate_series(3, 1, -1)), array_cat(NULL, ARRAY[1]), ARRAY[1, NULL] = ARRAY[1, NULL], array_sort IS NULL FROM (SELECT NULL AS array_sort) AS s;
SELECT ARRAY['b', 'a'] < ARRAY['b', 'b'], ARRAY[1, 2, 3] > ARRAY[1, 2], ARRAY[]::int[] = '{}', '{a,"b c",NULL,"NULL"}'::text[], ARRAY[1.5, 2]::int[], ARRAY[true, NULL]::text, (ARRAY['x', 'y'])[3], trim_array(ARRAY[1, 2, 3], 1), array_dims(ARRAY[1, 2]);
SELECT unnest(ARRAY[1, 2]), unnest(ARRAY['a', 'b', 'c']);
SELECT * FROM unnest(ARRAY[1, 2], ARRAY['a', 'b', 'c']) AS u(n, t);
SELECT * FROM ROWS FROM (generate_series(1, 2), unnest(ARRAY['x', 'y', 'z'])) WITH ORDINALITY AS r(a, b, o);
SELECT (ROW(1, 'a')).f1, ROW(1, 2) = ROW(1, 2), ROW(1, NULL) IS NULL, ROW(NULL, NULL) IS NULL, ROW(1, 2) < ROW(1, 3), (1, 'b') > (1, 'a'), row_to_json(ROW(1, 'x', NULL));
SELECT int4range(1, 5) * int4range(3, 8), numrange(1.5, 2.5) @> 2.0, daterange('2024-01-01', NULL) @> current_date, int4range(1, 5) -|- int4range(5, 8), range_merge(int4range(1, 2), int4range(5, 6)), tsrange('2024-01-01', '2024-01-02', '[]'), int8range(1, 1), '[1,3]'::int4range + '[3,5]'::int4range, '[1,10)'::int4range - '[5,20)'::int4range;
SELECT uuid 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', '{a0eebc999c0b4ef8bb6d6bb9bd380a11}'::uuid = 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', B'101' || B'01', B'1010' & B'0110', 12::bit(8), '192.168.1.5/24'::inet, network('192.168.1.5/24'), host('10.0.0.1'), inet '10.1.2.3' << '10.0.0.0/8', '12.34'::money + '1', 5 * '2.50'::money;
SELECT x, row_number() OVER (ORDER BY x COLLATE "C"), rank() OVER (ORDER BY length(x)) FROM (VALUES ('b'), ('a'), ('B'), ('aa')) AS v(x);
SELECT DISTINCT units > 4, product IN ('anvil', 'rope') FROM ap_s;
SELECT product, units FROM ap_s ORDER BY units DESC NULLS LAST, product OFFSET 1 ROWS FETCH FIRST 2 ROWS WITH TIES;
SELECT region FROM ap_s EXCEPT ALL SELECT region FROM ap_s WHERE product = 'anvil';
SELECT region, product FROM ap_s INTERSECT SELECT region, 'anvil' FROM ap_s;
SELECT t.region, t.product FROM ap_s AS t NATURAL JOIN (SELECT DISTINCT region FROM ap_s WHERE units > 6) AS s;
SELECT a.region, b.total FROM ap_s a LEFT JOIN (SELECT region, sum(units) AS total FROM ap_s GROUP BY region) b USING (region) WHERE a.product = 'rope';
SELECT count(*) FROM ap_s WHERE sold = ANY (ARRAY['2024-01-03', '2024-03-10']::date[]) OR units = ALL (SELECT units FROM ap_s WHERE product = 'nothing');
SELECT region FROM ap_s WHERE units > ALL (SELECT units FROM ap_s WHERE region = 'south') AND units < ANY (SELECT units FROM ap_s WHERE region = 'east');
SELECT sum(units) OVER w AS s, units FROM ap_s WINDOW w AS (PARTITION BY product ORDER BY sold ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) ORDER BY s NULLS FIRST, units;
SELECT ntile(2) OVER (ORDER BY revenue NULLS FIRST), cume_dist() OVER (ORDER BY product), percent_rank() OVER (PARTITION BY region ORDER BY units), lead(product) OVER (ORDER BY sold), nth_value(product, 2) OVER (ORDER BY sold) FROM ap_s;
SELECT string_agg(product, ',') OVER (PARTITION BY region ORDER BY units), jsonb_agg(units) OVER (PARTITION BY product ORDER BY units), array_agg(region) OVER (ORDER BY sold ROWS 1 PRECEDING) FROM ap_s;
SELECT max(revenue) FILTER (WHERE units > 5) OVER (PARTITION BY region), count(*) FILTER (WHERE discount > 0.1) OVER () FROM ap_s;
VALUES (1, 'a', NULL), (2.5, 'b', DATE '2024-01-01') ORDER BY 1 DESC;
SELECT 'a' AS x UNION ALL SELECT NULL UNION ALL SELECT 'b' ORDER BY x DESC;
SELECT $$it's$$ || E'\t\u00e9' || U&'\00e9' FROM (SELECT 1) AS s;
SELECT "Mixed Case", lower FROM (SELECT 1 AS "Mixed Case", 2 AS lower) AS s;
-- error 22026
SELECT B'101'::bit(5) & B'1';
-- error 22P02
SELECT '{1,2'::int[];
-- error 22P02
SELECT 'abc'::uuid;
-- error 2201F
SELECT sqrt(-1);
-- error 2201E
SELECT ln(0);
-- error 22003
SELECT 9223372036854775807 + 1;
-- error 22003
SELECT exp(1000.0::float8);
-- error 22008
SELECT timestamp '2024-01-01' + interval '300000 years';
-- error 2202E
SELECT ARRAY[[1, 2], [3]];
-- error 42704
SELECT rank() OVER w FROM ap_s;
-- error 42803
SELECT sum(count(*)) FROM ap_s;
-- error 42P18
SELECT ARRAY[];
-- error 42804
SELECT 1 WHERE 'x'::text;
-- error 42601
SELECT (SELECT 1, 2);
-- error 22023
SELECT jsonb_object_keys('[1]');
-- error 22P02
SELECT '{"a":}'::json;
-- error 22007
SELECT to_date('2024-xx-01', 'YYYY-MM-DD');
-- error 42883
SELECT nosuch(1, 'a');
-- error 42725
SELECT '1' + '2' - unknown_thing FROM (SELECT NULL AS unknown_thing) AS s;
