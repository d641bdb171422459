-- Ranges: literals, constructors, canonical form, operators, functions, aggregates, columns, casts.
-- setup
CREATE TABLE rg_t (id integer, i int4range, b int8range, n numrange, d daterange, t tsrange, z tstzrange);
INSERT INTO rg_t VALUES
  (1, '[1,5)', '[1,5]', '[1.5,2.50]', '[2020-01-01,2020-02-01)', '[2020-01-01 10:00,2020-01-01 11:30)', '[2020-01-01 10:00+00,2020-01-01 11:30+00)'),
  (2, '(1,5]', '(,5]', '(1.0,3)', '(2020-01-01,2020-01-31]', '(2020-01-01 11:00,]', '(,2020-01-01 11:30+02]'),
  (3, 'empty', 'empty', 'empty', 'empty', 'empty', 'empty'),
  (4, '(,)', '(,)', '(,)', '(,)', '(,)', '(,)'),
  (5, NULL, NULL, NULL, NULL, NULL, NULL),
  (6, '[10,20)', '[9223372036854775806,9223372036854775807)', '[-1.25,1e3)', '[infinity,)', '[-infinity,infinity]', '[2021-06-01 00:00+02,)');
CREATE TABLE rg_x (id integer, v integer, r int4range NOT NULL);
INSERT INTO rg_x SELECT g, g * 3 % 17, int4range(g, g + g % 5) FROM generate_series(1, 40) AS s(g);
-- cases
SELECT * FROM rg_t;
-- ordered
SELECT id, i FROM rg_t ORDER BY i, id;
-- ordered
SELECT id, b FROM rg_t ORDER BY b DESC, id;
-- ordered
SELECT id, n FROM rg_t ORDER BY n NULLS FIRST, id;
-- ordered
SELECT id, d FROM rg_t ORDER BY d, id;
-- ordered
SELECT id, t FROM rg_t ORDER BY t, id;
-- ordered
SELECT id, z FROM rg_t ORDER BY z DESC NULLS LAST, id;
SELECT id, lower(i), upper(i), lower_inc(i), upper_inc(i), lower_inf(i), upper_inf(i), isempty(i) FROM rg_t;
SELECT id, lower(b), upper(b), lower_inc(b), upper_inc(b), lower_inf(b), upper_inf(b), isempty(b) FROM rg_t;
SELECT id, lower(n), upper(n), lower_inc(n), upper_inc(n), lower_inf(n), upper_inf(n), isempty(n) FROM rg_t;
SELECT id, lower(d), upper(d), lower_inc(d), upper_inc(d), lower_inf(d), upper_inf(d), isempty(d) FROM rg_t;
SELECT id, lower(t), upper(t), lower_inc(t), upper_inc(t), lower_inf(t), upper_inf(t), isempty(t) FROM rg_t;
SELECT id, lower(z), upper(z), lower_inc(z), upper_inc(z), lower_inf(z), upper_inf(z), isempty(z) FROM rg_t;
SELECT '[1,10)'::int4range, '(1,10]'::int4range, '[1,10]'::int4range, '(1,10)'::int4range, '(1,2)'::int4range, '[3,3)'::int4range, '[3,3]'::int4range;
SELECT ' [ 1 , 5 ) '::int4range, ' empty '::int4range, 'EMPTY'::daterange, '[,5)'::int4range, '[5,]'::int4range, '[,]'::int4range;
SELECT '["1","5")'::int4range, '[\1,5)'::int4range, '[1.0,1.00]'::numrange, '[1.10,1.1)'::numrange, '(0.5,)'::numrange, '[-5,-3]'::numrange;
SELECT '[2020-02-28,2020-03-01)'::daterange, '(2020-02-28,2020-03-01]'::daterange, '[today,today]'::daterange = daterange(current_date, current_date, '[]'), '[2020-01-01,infinity]'::daterange, '(-infinity,2020-01-01)'::daterange;
SELECT '["2020-01-01 10:00","2020-01-01 11:00"]'::tsrange, '[2020-01-01 10:00:00.123456,infinity)'::tsrange, '[-infinity,2020-01-01)'::tsrange, '[0044-03-15 BC,0001-01-01]'::tsrange;
SELECT '[2020-07-01 10:00+02,2020-07-01 12:00+02)'::tstzrange;
SELECT '[-2147483648,2147483647)'::int4range, '[-9223372036854775808,9223372036854775807)'::int8range;
-- error 22003
SELECT '[1,2147483647]'::int4range;
-- error 22003
SELECT '[1,2147483648)'::int4range;
-- error 22003
SELECT '(1,9223372036854775807]'::int8range;
-- error 22008
SELECT '[2020-01-01,5874897-12-31]'::daterange;
-- error 22000
SELECT '[5,1)'::int4range;
-- error 22000
SELECT '[2020-02-01,2020-01-01]'::daterange;
-- error 22P02
SELECT '1,2'::int4range;
-- error 22P02
SELECT ''::int4range;
-- error 22P02
SELECT '[1'::int4range;
-- error 22P02
SELECT '[1,2'::int4range;
-- error 22P02
SELECT '[1)'::int4range;
-- error 22P02
SELECT '[1,2,3)'::int4range;
-- error 22P02
SELECT '[1,2) x'::int4range;
-- error 22P02
SELECT 'empty x'::int4range;
-- error 22P02
SELECT '[a,2)'::int4range;
-- error 22P02
SELECT '["1,2)'::int4range;
-- error 22P02
SELECT '[1.5,2)'::int4range;
-- error 22P02
SELECT '[ä,ö)'::numrange;
-- error 22007
SELECT '[x,2020-01-01)'::daterange;
SELECT int4range(1, 5), int4range(1, 5, '[]'), int4range(1, 5, '()'), int4range(1, 5, '(]'), int4range(NULL, 5), int4range(1, NULL), int4range(NULL, NULL), int4range(3, 3), int4range(3, 3, '[]'), int4range(1, 2, '()');
SELECT int8range(1, 5000000000), int8range(1, 2, '[]'), numrange(1.5, 2), numrange(1.10, 2.2, '[]'), numrange(NULL, 1), numrange(1, 1.0, '[]'), numrange(0.001, 12345678.9, '()');
SELECT daterange('2020-01-01', '2020-12-31', '[]'), daterange(NULL, '2020-12-31', '(]'), tsrange('2020-01-01', '2020-01-02'), tsrange('2020-01-01', '2020-01-01', '[]'), tsrange('2020-01-01', '2020-01-01');
SELECT tstzrange('2020-01-01 00:00+00', '2020-01-02 00:00+00', '(]'), daterange('infinity', NULL), daterange('-infinity', 'infinity', '[]'), daterange('-infinity', 'infinity', '()');
SELECT id, int4range(v, v + id), int4range(v, v + id, '[]'), int4range(v, v + id, CASE WHEN v > 8 THEN '(]' ELSE '()' END) FROM rg_x;
SELECT id, numrange(v, v + 1.5), numrange(v * 0.5, v + id, '[]') FROM rg_x WHERE id < 10;
-- error 22000
SELECT int4range(5, 1);
-- error 22000
SELECT int4range(v, 3) FROM rg_x;
-- error 22000
SELECT int4range(1, 5, NULL);
-- error 42601
SELECT int4range(1, 5, '[[');
-- error 42601
SELECT int4range(1, 5, '');
-- error 22003
SELECT int4range(v, 2147483647, '[]') FROM rg_x;
-- error 42883
SELECT int4range(1.5, 2);
-- error 42883
SELECT int4range(1);
SELECT int4range('[1,3)'), int4range('[1,3]'::text::int4range);
SELECT a.id, b.id, a.i = b.i, a.i <> b.i, a.i < b.i, a.i <= b.i, a.i > b.i, a.i >= b.i FROM rg_t a, rg_t b;
SELECT a.id, b.id, a.n = b.n, a.n < b.n, a.n @> b.n, a.n && b.n, a.n -|- b.n FROM rg_t a, rg_t b;
SELECT a.id, b.id, a.i @> b.i, a.i <@ b.i, a.i && b.i, a.i << b.i, a.i >> b.i, a.i &< b.i, a.i &> b.i, a.i -|- b.i FROM rg_t a, rg_t b;
SELECT a.id, b.id, a.d @> b.d, a.d <@ b.d, a.d && b.d, a.d << b.d, a.d >> b.d, a.d &< b.d, a.d &> b.d, a.d -|- b.d FROM rg_t a, rg_t b;
SELECT a.id, b.id, a.t @> b.t, a.t <@ b.t, a.t && b.t, a.t << b.t, a.t >> b.t, a.t &< b.t, a.t &> b.t, a.t -|- b.t FROM rg_t a, rg_t b;
SELECT a.id, b.id, a.i * b.i, a.b * b.b, a.n * b.n, a.d * b.d, a.t * b.t, a.z * b.z FROM rg_t a, rg_t b;
SELECT a.id, b.id, range_merge(a.i, b.i), range_merge(a.n, b.n), range_merge(a.t, b.t) FROM rg_t a, rg_t b;
SELECT a.id, b.id, a.i + b.i FROM rg_t a, rg_t b WHERE a.i && b.i OR a.i -|- b.i OR isempty(a.i) OR isempty(b.i);
SELECT a.id, b.id, a.n + b.n FROM rg_t a, rg_t b WHERE a.n && b.n OR a.n -|- b.n OR isempty(a.n) OR isempty(b.n);
SELECT a.id, b.id, a.i - b.i FROM rg_t a, rg_t b WHERE NOT (lower(a.i) < lower(b.i) AND upper(a.i) > upper(b.i)) AND a.id <> 4;
SELECT a.id, b.id, a.t - b.t FROM rg_t a, rg_t b WHERE a.id <> 4 AND a.id <> 6;
SELECT a.id, b.id, a.n - b.n FROM rg_t a, rg_t b WHERE a.id < 4 AND (a.id, b.id) NOT IN ((1, 2), (2, 1));
-- error 22000
SELECT a.n - b.n FROM rg_t a, rg_t b WHERE a.id = 6 AND b.id = 1;
-- error 22000
SELECT int4range(1, 3) + int4range(5, 7);
-- error 22000
SELECT int4range(1, 10) - int4range(3, 5);
SELECT int4range(1, 10) - int4range(5, 20), int4range(1, 10) - int4range(-5, 4), int4range(1, 10) - int4range(1, 10), int4range(1, 10) - int4range(20, 30), int4range(1, 10) - 'empty', numrange(1, 10) - numrange(1, 5, '[]'), numrange(1.0, 10, '[]') - numrange(5.50, 20, '(]');
SELECT int4range(1, 3) + int4range(3, 7), numrange(1.0, 3) + numrange(3, 7.00, '[]'), numrange(1, 3, '[]') + numrange(3, 7, '(]'), int4range(1, 3) + 'empty'::int4range;
SELECT numrange(1, 2) -|- numrange(2, 3), numrange(1, 2, '[]') -|- numrange(2, 3), numrange(1, 2) -|- numrange(2, 3, '()'), numrange(1, 2, '[]') -|- numrange(2, 3, '()'), numrange(2, 3, '()') -|- numrange(1, 2, '[]');
SELECT id, i @> 3, 3 <@ i, b @> 5::bigint, n @> 2.5, n @> 1.5000, d @> '2020-01-15'::date, t @> '2020-01-01 11:00'::timestamp, z @> '2020-01-01 11:00+00'::timestamptz FROM rg_t;
SELECT id, i @> NULL::integer, NULL::int4range @> 3, i @> NULL::int4range, NULL && i FROM rg_t;
SELECT id FROM rg_x WHERE r @> v;
SELECT id FROM rg_x WHERE v <@ int4range(3, 9) AND NOT isempty(r);
SELECT a.id, b.id FROM rg_x a JOIN rg_x b ON a.r && b.r AND a.id < b.id WHERE a.id < 12;
SELECT a.id, b.id FROM rg_t a JOIN rg_t b USING (i) WHERE a.id <= b.id;
SELECT a.id, b.id FROM rg_t a JOIN rg_t b ON a.n = b.n;
-- error 42883
SELECT int4range(1, 5) @> 3.5;
-- error 42883
SELECT int8range(1, 5) @> 3;
-- error 42883
SELECT int4range(1, 5) @> int8range(1, 5);
-- error 22P02
SELECT int4range(1, 5) @> '3';
-- error 42883
SELECT int4range(1, 5) + 1;
-- error 42883
SELECT min(i) FROM rg_t;
-- error 42883
SELECT sum(i) FROM rg_t;
SELECT i, count(*) FROM rg_t GROUP BY i;
SELECT n, count(*) FROM (VALUES ('[1,2)'::numrange), ('[3,4]'), ('[1,2)'), (NULL), ('empty'), ('empty')) AS s(n) GROUP BY n;
SELECT count(*) FROM (SELECT n FROM (VALUES ('[1.0,2)'::numrange), ('[1.00,2]'), ('[1,2.0)')) AS s(n) GROUP BY n) AS g;
SELECT DISTINCT r FROM rg_x;
SELECT DISTINCT n FROM rg_t;
SELECT count(DISTINCT r), count(r), count(DISTINCT isempty(r)) FROM rg_x;
SELECT i FROM rg_t UNION SELECT r FROM rg_x WHERE id < 5;
SELECT i FROM rg_t INTERSECT SELECT '[1,5)'::int4range;
SELECT i FROM rg_t EXCEPT SELECT '[1,5)'::int4range;
SELECT range_intersect_agg(i), range_intersect_agg(n), range_intersect_agg(d), range_intersect_agg(t) FROM rg_t;
SELECT range_intersect_agg(i), range_intersect_agg(n), range_intersect_agg(t) FROM rg_t WHERE id IN (1, 2, 4);
SELECT range_intersect_agg(r) FROM rg_x WHERE false;
SELECT id % 3, range_intersect_agg(int4range(id, id + 20)) FROM rg_x GROUP BY 1;
SELECT range_intersect_agg(n) FILTER (WHERE id = 1), array_agg(n ORDER BY id), array_agg(i ORDER BY id DESC) FROM rg_t;
SELECT greatest(int4range(1, 5), int4range(2, 3), 'empty'), least(int4range(1, 5), int4range(2, 3), 'empty'), coalesce(NULL, int4range(1, 2)), nullif(int4range(1, 2), '[1,1]'), CASE WHEN true THEN numrange(1.0, 2) ELSE 'empty' END;
SELECT id, CASE WHEN id > 2 THEN n ELSE numrange(0.10, 5) END, coalesce(n, 'empty'), greatest(n, '[1,2)') FROM rg_t;
SELECT id FROM rg_t WHERE i IN ('[1,5)', 'empty') OR i = ANY (ARRAY['[10,20)'::int4range]);
SELECT id FROM rg_t WHERE n IN ('[1.50,2.5]', 'empty');
SELECT id, i IS NULL, n IS NULL, i IS DISTINCT FROM 'empty', n IS NOT DISTINCT FROM 'empty' FROM rg_t;
SELECT id, lag(i) OVER (ORDER BY id), lead(n) OVER (ORDER BY id), row_number() OVER (ORDER BY i, id), rank() OVER (ORDER BY n) FROM rg_t;
SELECT id, i::text, n::text, d::varchar, t::text, length(b::text), 'x' || i FROM rg_t;
SELECT id, i::text::int4range = i, n::text::numrange = n, t::text::tsrange = t FROM rg_t;
SELECT ARRAY[int4range(1, 3), NULL, 'empty'], ARRAY['[1.5,2)'::numrange, '(,)'], ARRAY[tsrange('2020-01-01', '2020-01-02')], '{"[1,3)",empty,NULL}'::int4range[], '{"[\"2020-01-01 10:00\",)"}'::tsrange[];
SELECT (ARRAY[int4range(1, 3), 'empty'])[1], (ARRAY[numrange(1.50, 3), 'empty'])[1], unnest(ARRAY[numrange(1, 2), numrange(1.0, 2)]);
SELECT ARRAY[int4range(1, 3)] = ARRAY['[1,2]'::int4range], ARRAY[numrange(1, 3)] = ARRAY['[1.0,3.00)'::numrange], array_position(ARRAY[int4range(1, 2), 'empty'], 'empty');
SELECT pg_typeof(int4range(1, 2)), pg_typeof(lower(numrange(1, 2))), pg_typeof(ARRAY[daterange(NULL, NULL)]), pg_typeof(tstzrange(NULL, NULL));
SELECT to_json(int4range(1, 2)), to_jsonb(tsrange('2020-01-01', NULL)), json_build_object('r', numrange(1, 2));
SELECT format('%s %L', int4range(1, 2), numrange(1, 2)), concat(int4range(1, 2), '-', 'empty'::daterange);
SELECT * FROM (VALUES (1, int4range(1, 2)), (2, '[3,4]')) AS s(a, r) WHERE r @> a;
SELECT (SELECT i FROM rg_t WHERE id = 1), ARRAY(SELECT n FROM rg_t ORDER BY id), EXISTS (SELECT 1 FROM rg_t WHERE isempty(i));
SELECT upper(r) - lower(r) AS size, count(*) FROM rg_x GROUP BY 1;
-- error 42846
SELECT int4range(1, 2)::integer;
-- error 42846
SELECT 5::int4range;
-- error 42846
SELECT int4range(1, 2)::int8range;
-- error 42804
INSERT INTO rg_t (id, i) VALUES (7, 5);
-- error 42601
CREATE TABLE rg_bad (r int4range(3));
-- error 23502
INSERT INTO rg_x VALUES (1, 2, NULL);
UPDATE rg_t SET i = i * '[2,4)', n = n + numrange(2.5, 7.00, '[]') WHERE id = 1 RETURNING id, i, n;
UPDATE rg_t SET d = daterange(lower(d), NULL) WHERE id < 3;
DELETE FROM rg_t WHERE isempty(i) RETURNING *;
SELECT * FROM rg_t;
CREATE TABLE rg_a (id integer, r int4range[], n numrange[]);
INSERT INTO rg_a VALUES (1, ARRAY[int4range(1, 3), NULL, 'empty'], '{"[1.50,2)","(,)"}'), (2, '{}', NULL), (3, NULL, '{NULL}');
SELECT * FROM rg_a;
CREATE TABLE rg_k (r int4range PRIMARY KEY);
INSERT INTO rg_k VALUES ('[1,3)'), ('empty');
-- error 23505
INSERT INTO rg_k VALUES ('[1,2]');
-- error 23505
INSERT INTO rg_k VALUES ('empty');
ALTER TABLE rg_x ADD COLUMN n numrange DEFAULT '[1.50,2)';
ALTER TABLE rg_x ADD COLUMN d daterange;
SELECT * FROM rg_x WHERE id < 4;
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'rg_t'::regclass AND attnum > 0;
SELECT oid, typname, typlen, typtype, typcategory, typarray FROM pg_type WHERE typname IN ('int4range', 'numrange', '_tsrange', 'daterange');
SELECT range_agg(i) IS NOT NULL FROM rg_t;
SELECT '{[1,2)}'::int4multirange;
SELECT r, count(*) FROM rg_x GROUP BY r HAVING r @> max(v) AND upper(r) - lower(r) > 2;
SELECT u.e, count(*) FROM rg_a AS a, unnest(a.n) AS u(e) GROUP BY u.e HAVING u.e @> 1.75;
-- bounds from a column whose numbers show more than a decimal
SELECT numrange(n, 1000), numrange(-1000, n, '[]'), lower(numrange(n, NULL)), numrange(n, NULL) * numrange(NULL, n + 1) FROM (VALUES (1.50), (-0.00125), (7), (NULL)) AS v(n);
CREATE TABLE rg_n AS SELECT n FROM (VALUES (1.50), (-0.00125), (7), (NULL)) AS v(n);
SELECT numrange(n, 1000), numrange(-1000, n, '[]'), lower(numrange(n, NULL)), numrange(n, NULL) * numrange(NULL, n + 1) FROM rg_n;
SELECT range_agg(numrange(n, n + 1)), range_intersect_agg(numrange(n, 1000)) FROM rg_n;
-- between two constants
SELECT id FROM rg_t WHERE i BETWEEN 'empty' AND '[1,5)' OR n BETWEEN '(,1)' AND '[7,8]';
SELECT id FROM rg_t WHERE i > '(,3)' AND i <= '[20,)';
SELECT id FROM rg_x WHERE r >= int4range(3, 4) AND r < int4range(9, 12);
