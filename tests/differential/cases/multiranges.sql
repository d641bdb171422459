-- Multiranges: literals, constructors, canonical form, bounds, operators, arithmetic, aggregates, columns, casts.
-- cases
SELECT '{}'::int4multirange, '{[1,2],(2,5)}'::int4multirange, ' { [1,2) , [4,6) } '::int8multirange, '{empty,[1.50,2)}'::nummultirange, '{[2024-01-01,2024-02-01),[2024-02-01,2024-03-01]}'::datemultirange;
SELECT '{["2020-01-01 10:00","2020-01-01 11:00")}'::tsmultirange, '{[2020-07-01 10:00+02,2020-07-01 12:00+02)}'::tstzmultirange, '{(,)}'::int4multirange, '{(,3),[5,)}'::int4multirange;
SELECT int4multirange(), int4multirange(int4range(1,3)), int4multirange(int4range(1,3), int4range(3,5), int4range(8,9), 'empty'), nummultirange(numrange(1.0,2.50), numrange(2.5,3)), multirange(numrange(1.5,2));
SELECT '{[1,3),[5,8)}'::int4multirange + '{[3,4)}', '{[1,3),[5,8)}'::int4multirange * '{[2,6)}', '{[1,3),[5,8)}'::int4multirange - '{[2,6)}', '{(,)}'::int4multirange - '{[1,2),[5,)}';
SELECT '{[1.5,3),[5,8.00)}'::nummultirange - '{[2.50,6.0]}', '{[1.5,3.0)}'::nummultirange * '{(2.00,)}', '{(,1.0)}'::nummultirange + '{[1.00,2.000]}';
SELECT m, unnest(m) FROM (VALUES ('{[1,3),[5,8)}'::int4multirange), ('{}'), (NULL)) t(m);
SELECT r FROM unnest('{[1.5,3),[5,8)}'::nummultirange) r;
SELECT lower(m), upper(m), isempty(m), lower_inc(m), upper_inc(m), lower_inf(m), upper_inf(m), range_merge(m) FROM (VALUES ('{[1.5,3),[5,8.00]}'::nummultirange), ('{}'), (NULL), ('{(,)}')) t(m);
SELECT m @> 2, m @> 3, 5 <@ m, m @> int4range(1,2), m @> '{[1,2),[5,6)}'::int4multirange, int4range(1,9) @> m, m <@ int4range(0,10), int4range(5,6) <@ m, m && int4range(3,5), m && int4range(3,6), int4range(2,3) && m, m && '{[3,4)}' FROM (VALUES ('{[1,3),[5,8)}'::int4multirange), ('{}'), (NULL)) t(m);
SELECT m << int4range(9,10), m >> int4range(-1,0), m &< int4range(1,8), m &> int4range(1,2), m -|- int4range(8,9), int4range(0,1) -|- m, m -|- '{[8,9)}', m << '{[8,9)}', int4range(9,10) >> m FROM (VALUES ('{[1,3),[5,8)}'::int4multirange), ('{}'), (NULL)) t(m);
SELECT range_agg(r), range_intersect_agg(r) FROM (VALUES (int4range(1,3)), (int4range(2,5)), (NULL), (int4range(8,9)), ('empty')) t(r);
SELECT range_agg(r) FROM (VALUES (NULL::int4range)) t(r);
SELECT range_agg(r) FROM (SELECT int4range(1,2) WHERE false) t(r);
SELECT range_agg(m), range_intersect_agg(m) FROM (VALUES ('{[1,3),[5,8)}'::int4multirange), ('{[2,6)}'), (NULL)) t(m);
SELECT g % 2, range_agg(int4range(g, g + 2)) FROM generate_series(1, 9) g GROUP BY 1;
SELECT g, range_agg(numrange(g, g + 1)) OVER (ORDER BY g ROWS 1 PRECEDING) FROM generate_series(1, 4) g;
CREATE TABLE mrange_t (i int, m int4multirange, n nummultirange, d datemultirange, a int4multirange[]);
INSERT INTO mrange_t VALUES (1, '{[1,3),[5,8)}', '{[1.5,2.50)}', '{[2024-01-01,2024-02-01)}', ARRAY['{[1,2)}'::int4multirange]), (2, '{}', '{}', '{}', '{}'), (3, NULL, NULL, NULL, NULL), (4, '{(,)}', '{(,1.0],(2,)}', '{(,2024-01-01)}', '{"{[1,2),[4,5)}",NULL}');
SELECT * FROM mrange_t;
-- ordered
SELECT i FROM mrange_t ORDER BY m, i;
-- ordered
SELECT i FROM mrange_t ORDER BY n DESC NULLS LAST, i;
UPDATE mrange_t SET m = m + int4multirange(int4range(3,5)), n = n * '{[0,2)}' WHERE i IN (1, 4);
SELECT * FROM mrange_t;
SELECT m, count(*) FROM mrange_t GROUP BY m;
SELECT n, count(*) FROM (VALUES ('{[1.0,2)}'::nummultirange), ('{[1.00,2.0)}'), ('{}')) t(n) GROUP BY n;
SELECT DISTINCT n FROM (VALUES ('{[1.0,2)}'::nummultirange), ('{[1.00,2.0)}')) t(n);
SELECT '{[1,2)}'::int4multirange = '{[1,2)}', '{[1,2)}'::int4multirange < '{[1,2),[3,4)}', '{}'::int4multirange < '{[1,2)}', '{[1.0,2)}'::nummultirange = '{[1.00,2)}', '{[1,2)}'::int4multirange <> '{}';
SELECT a.m FROM mrange_t a JOIN mrange_t b ON a.m = b.m;
SELECT m::text, n::text, length(m::text), d::text FROM mrange_t;
SELECT int4range(1,5)::int4multirange, numrange(1.50,2)::nummultirange, NULL::int4range::int4multirange, 'empty'::int4range::int4multirange;
SELECT pg_typeof(m), pg_typeof(unnest(m)), pg_typeof(range_agg(int4range(1,2))) FROM mrange_t GROUP BY m;
-- messages
-- error 22P02
SELECT '{[1,2)'::int4multirange;
-- error 22P02
SELECT '[1,2)'::int4multirange;
-- error 22P02
SELECT '{[1,2)} x'::int4multirange;
-- error 22P02
SELECT '{[1,2) [3,4)}'::int4multirange;
-- error 22P02
SELECT '{1}'::int4multirange;
-- error 22P02
SELECT '{,}'::int4multirange;
-- error 22P02
SELECT '{[1,2),}'::int4multirange;
-- error 22P02
SELECT ''::int4multirange;
-- error 22000
SELECT '{[2,1)}'::int4multirange;
-- error 22P02
SELECT '{[a,1)}'::int4multirange;
-- cases
SELECT int4multirange(NULL::int4range);
-- messages
-- error 22004
SELECT int4multirange(VARIADIC ARRAY[int4range(1,2), NULL]);
-- cases
SELECT int4multirange(VARIADIC ARRAY[int4range(1,2), int4range(2,3)]);
SELECT to_jsonb(m), json_build_object('m', n), array_agg(m) FROM mrange_t GROUP BY 1, n;
-- messages
-- error 42883
SELECT max(m) FROM mrange_t;
-- error 42883
SELECT m + int4range(1,2) FROM mrange_t;
-- error 42883
SELECT m @> 1.5 FROM mrange_t;
-- error 42883
SELECT '{[1,2)}'::int4multirange + '{[3,4)}'::int8multirange;
-- cases
CREATE TABLE mr_k (m int4multirange PRIMARY KEY);
-- messages
-- error 23505
INSERT INTO mr_k VALUES ('{[1,2)}'), ('{[1,1]}');
-- cases
SELECT coalesce(NULL, '{[1,2)}'::int4multirange), CASE WHEN true THEN '{}'::int4multirange END, (SELECT m FROM mrange_t WHERE i = 1);
SELECT typname, typtype, typarray > 0 FROM pg_type WHERE typname LIKE '%multirange' ORDER BY 1;
CREATE FUNCTION mr_f(anymultirange) RETURNS anyelement LANGUAGE sql AS 'SELECT lower($1)';
SELECT mr_f('{[3,4)}'::int4multirange);
SELECT nummultirange(numrange(1,1.0,'[]'), numrange(1.00,2)), nummultirange(numrange(1.0,2.0), numrange(1,2.00,'[]')), '{[1.0,2.0)}'::nummultirange + '{[1,2.00)}', '{[1.0,2.0)}'::nummultirange * '{[1,2.00)}';
CREATE TABLE mr_null (r int4range);
INSERT INTO mr_null VALUES (NULL);
-- error 22004
SELECT int4multirange(r, r) FROM mr_null;
SELECT int4multirange(r) FROM mr_null;
-- arrays of multiranges, empty ones too, of one dimension and of two
-- setup
CREATE TABLE mr_many (id int, m int4multirange);
INSERT INTO mr_many VALUES (1, '{}'), (2, '{[1,3)}'), (3, NULL), (4, '{}');
-- cases
SELECT id, ARRAY(SELECT o.m FROM mr_many o WHERE o.id <= mr_many.id ORDER BY o.id) FROM mr_many;
SELECT ARRAY(SELECT m FROM mr_many ORDER BY id), array_agg(m ORDER BY id) FROM mr_many;
SELECT id, ARRAY[ARRAY[m]], ARRAY[ARRAY[m], ARRAY['{}'::int4multirange]], ARRAY[m] FROM mr_many;
SELECT array_agg(ARRAY[m, '{}'] ORDER BY id), '{{"{}"},{"{[1,2)}"}}'::int4multirange[] FROM mr_many;
