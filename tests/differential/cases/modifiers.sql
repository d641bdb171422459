-- What is declared of a type beside its name: which expressions have it, and which none.
-- setup
CREATE TABLE md_t (k integer, a varchar(10), c char(3), b bit(4), vb bit varying(6), t timestamp(3), tz timestamptz(2), ti time(1), tt timetz(0), iv interval(2), im interval day to minute, n numeric(8,2), av varchar(5)[], an numeric(6,1)[], ac char(4)[], at timestamp(1)[], ab bit varying(3)[]);
INSERT INTO md_t VALUES (1, 'abc', 'x', B'1010', B'101', '2024-01-02 03:04:05.678', '2024-01-02 03:04:05.67', '03:04:05.6', '03:04:05+02', '1 day 2.25 s', '1 day 02:03', 12.5, '{a,bc}', '{1.5,2}', '{p,qq}', '{2024-01-01 00:00:00.1}', '{101,110}'), (2, NULL, 'yy', B'0000', B'', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
CREATE TABLE md_wide (v numeric(38,4));
INSERT INTO md_wide VALUES (1234567890123456789012.1234);
CREATE DOMAIN md_d AS varchar(5);
CREATE DOMAIN md_n AS numeric(8,3) CHECK (VALUE > 0);
CREATE DOMAIN md_c AS char(4);
CREATE TABLE md_domains (d md_d, e md_d[], n md_n, c md_c);
INSERT INTO md_domains VALUES ('abc', '{x}', 1.25, 'zz');
CREATE TYPE md_r AS (a varchar(4), b char(5), c numeric(6,2));
CREATE FUNCTION md_one(varchar(3)) RETURNS varchar(4) LANGUAGE sql AS 'SELECT $1 || ''''';
CREATE FUNCTION md_set() RETURNS SETOF varchar LANGUAGE sql AS 'SELECT a FROM md_t ORDER BY k';
CREATE FUNCTION md_table() RETURNS TABLE (x varchar, y char(3), z numeric) LANGUAGE sql AS 'SELECT a, c, n FROM md_t ORDER BY k';
CREATE FUNCTION md_rows() RETURNS SETOF md_t LANGUAGE sql AS 'SELECT * FROM md_t ORDER BY k';
CREATE FUNCTION md_out(OUT x varchar, OUT y numeric) LANGUAGE sql AS 'SELECT a, n FROM md_t WHERE k = 1';
CREATE FUNCTION md_grows(v varchar) RETURNS SETOF varchar LANGUAGE sql AS 'WITH RECURSIVE r(x, d) AS (SELECT v, 1 UNION ALL SELECT x || ''y'', d + 1 FROM r WHERE d < 3) SELECT x FROM r';
-- cases
SELECT * FROM md_t;
-- A cast to the bare name
SELECT a::varchar, c::char, c::bpchar, c::varchar, c::text, b::bit, b::varbit, vb::varbit, n::numeric FROM md_t;
SELECT t::timestamp, tz::timestamptz, ti::time, tt::timetz, iv::interval, im::interval FROM md_t;
SELECT av::varchar[], an::numeric[], ac::bpchar[], ac::char[], ac::text[], at::timestamp[], ab::varbit[] FROM md_t;
SELECT a::varchar::varchar(4), a::varchar(4)::varchar, a::text::varchar, a::varchar::text, c::varchar(2), c::bpchar(2)::bpchar, c::char(5)::bpchar FROM md_t;
SELECT b::bit(6)::bit, (b || b)::bit(8), b::bit varying(2)::bit varying, t::timestamp(0)::timestamp, tz::timestamptz(0)::timestamptz, ti::time(0)::time, iv::interval(0)::interval, iv::interval second, im::interval hour FROM md_t;
SELECT 'abc'::varchar(2)::varchar, 'abc'::char(5)::bpchar, B'101'::bit(5)::bit, '2024-01-01'::timestamp(2)::timestamp, '1'::numeric(5,2)::numeric, '1 day'::interval(3)::interval, '{a}'::varchar(3)[]::varchar[], NULL::varchar(3)::varchar;
SELECT varchar 'abc', varchar(2) 'abc', char(5) 'abc', bpchar 'abc', bit '1', numeric '1.5', timestamp(2) '2024-01-01', interval(2) '1 s', interval(6) '1 s', '1 s'::interval(9), interval '1' day, interval '1:02' hour to minute;
SELECT "varchar"(a), "bpchar"(c), "numeric"(n), "timestamp"(t), "varchar"(c), text(a) FROM md_t;
-- The blanks of a char(n) that is cast, and of a literal
SELECT c::bpchar, c::bpchar || '|', c::bpchar::text || '|', length(c::bpchar), octet_length(c::bpchar), c::char(5)::bpchar, c::bpchar::char(5), c::bpchar::varchar FROM md_t;
SELECT to_json(c::bpchar), json_build_object('x', c::bpchar), format('%s|', c::bpchar), concat(c::bpchar, '|'), ROW(c::bpchar), ARRAY[c::bpchar], array_to_string(ac::bpchar[], '|') FROM md_t;
SELECT c::bpchar LIKE 'x  ', c::bpchar LIKE 'x', c::bpchar = 'x', c::bpchar = 'x   ', c::bpchar < 'xx', c::bpchar = c FROM md_t;
SELECT 'abc  '::bpchar, ' a '::bpchar, ''::bpchar, 'abc  '::bpchar || '|', length('abc  '::bpchar), octet_length('abc  '::bpchar);
SELECT c::bpchar, count(*) FROM md_t GROUP BY c::bpchar ORDER BY c::bpchar;
SELECT c::bpchar FROM md_t GROUP BY c ORDER BY 1;
SELECT DISTINCT c::bpchar FROM md_t ORDER BY 1;
SELECT a::varchar FROM md_t GROUP BY a ORDER BY a;
-- error 42803
SELECT a FROM md_t GROUP BY a::varchar;
WITH w AS (SELECT a::varchar AS x, c::bpchar AS y FROM md_t) SELECT w.*, n FROM w JOIN md_t ON c = y AND a = x;
WITH w AS MATERIALIZED (SELECT a::varchar AS x, c::bpchar AS y FROM md_t) SELECT y, count(*), max(x) FROM w GROUP BY y ORDER BY y;
SELECT max(c::bpchar), min(c::bpchar), array_agg(c::bpchar ORDER BY k) FROM md_t;
-- Recursive queries
WITH RECURSIVE r(x, d) AS (SELECT a::varchar, 1 FROM md_t WHERE k = 1 UNION ALL SELECT x || 'y', d + 1 FROM r WHERE d < 3) SELECT * FROM r;
WITH RECURSIVE r(x, d) AS (SELECT a::varchar, 1 FROM md_t WHERE k = 1 UNION ALL SELECT a, d + 1 FROM r, md_t WHERE d < 3) SELECT * FROM r;
WITH RECURSIVE r(x, d) AS (SELECT a, 1 FROM md_t WHERE k = 1 UNION ALL SELECT x, d + 1 FROM r WHERE d < 3) SELECT * FROM r;
-- error 42804
WITH RECURSIVE r(x, d) AS (SELECT a, 1 FROM md_t WHERE k = 1 UNION ALL SELECT x::varchar, d + 1 FROM r WHERE d < 3) SELECT * FROM r;
WITH RECURSIVE r(x, d) AS (SELECT t::timestamp, 1 FROM md_t WHERE k = 1 UNION ALL SELECT x + interval '1 s', d + 1 FROM r WHERE d < 3) SELECT * FROM r;
-- error 42804
WITH RECURSIVE r(x, d) AS (SELECT t, 1 FROM md_t WHERE k = 1 UNION ALL SELECT x + interval '1 s', d + 1 FROM r WHERE d < 3) SELECT * FROM r;
-- error 42804
WITH RECURSIVE r(x, d) AS (SELECT iv, 1 FROM md_t WHERE k = 1 UNION ALL SELECT iv::interval, d + 1 FROM r, md_t WHERE d < 3) SELECT * FROM r;
WITH RECURSIVE r(x, d) AS (SELECT b::varbit, 1 FROM md_t WHERE k = 1 UNION ALL SELECT x || B'1', d + 1 FROM r WHERE d < 3) SELECT * FROM r;
WITH RECURSIVE r(x, d) AS (SELECT av::varchar[], 1 FROM md_t WHERE k = 1 UNION ALL SELECT x || 'y'::varchar, d + 1 FROM r WHERE d < 3) SELECT * FROM r;
WITH RECURSIVE r(x, d) AS (SELECT an::numeric[], 1 FROM md_t WHERE k = 1 UNION ALL SELECT x || 7.25, d + 1 FROM r WHERE d < 3) SELECT * FROM r;
WITH RECURSIVE r(x, d) AS (SELECT c::bpchar, 1 FROM md_t WHERE k = 1 UNION ALL SELECT (x || 'zzzz')::bpchar, d + 1 FROM r WHERE d < 3) SELECT trim(x), d FROM r;
WITH RECURSIVE r(x, d) AS (SELECT c, 1 FROM md_t WHERE k = 1 UNION ALL SELECT x, d + 1 FROM r WHERE d < 3) SELECT * FROM r;
-- error 42804
WITH RECURSIVE r(x, d) AS (SELECT c::char, 1 FROM md_t WHERE k = 1 UNION ALL SELECT 'z'::bpchar, d + 1 FROM r WHERE d < 3) SELECT * FROM r;
SELECT * FROM md_grows((SELECT a FROM md_t WHERE k = 1));
-- What branches share
SELECT a FROM md_t UNION ALL SELECT a FROM md_t;
SELECT a FROM md_t UNION ALL SELECT a::varchar(3) FROM md_t;
SELECT a::varchar FROM md_t UNION ALL SELECT a || 'x' FROM md_t;
SELECT a FROM md_t UNION ALL SELECT NULL;
SELECT a FROM md_t UNION SELECT 'longer than it is declared';
(SELECT 'longer than it is declared' UNION ALL SELECT NULL) UNION ALL SELECT a FROM md_t;
SELECT a FROM md_t UNION ALL VALUES ('longer than it is declared'), (NULL);
SELECT c FROM md_t UNION ALL SELECT c FROM md_t;
SELECT c FROM md_t UNION ALL SELECT c::bpchar FROM md_t;
SELECT c FROM md_t UNION ALL SELECT NULL;
SELECT c FROM md_t UNION SELECT 'abc';
SELECT rtrim(c) FROM (SELECT c FROM md_t UNION SELECT 'longer than it is declared') AS s;
SELECT t FROM md_t UNION SELECT '2024-01-02 03:04:05.123456';
SELECT n FROM md_t UNION SELECT 1.2345;
SELECT n FROM md_t UNION SELECT '1.2345';
SELECT n FROM md_t UNION SELECT 1;
SELECT n FROM md_t UNION ALL SELECT n FROM md_t;
SELECT n FROM md_t UNION ALL SELECT NULL;
SELECT v FROM md_wide UNION ALL SELECT NULL;
SELECT v FROM md_wide UNION ALL SELECT '1.5';
SELECT a FROM md_t INTERSECT SELECT a::varchar FROM md_t;
SELECT n FROM md_t EXCEPT SELECT 1;
SELECT CASE WHEN k = 1 THEN a ELSE a END, CASE WHEN k = 1 THEN a END, CASE WHEN k = 1 THEN a ELSE 'longer than it is declared' END, CASE WHEN k = 1 THEN a ELSE a::varchar(3) END FROM md_t;
SELECT CASE WHEN k = 1 THEN c ELSE c END, CASE WHEN k = 1 THEN c END, CASE WHEN k = 1 THEN c ELSE 'N/A' END, rtrim(CASE WHEN k = 1 THEN c ELSE 'longer' END) FROM md_t;
SELECT CASE WHEN k = 1 THEN n ELSE '1.2345' END, CASE WHEN k = 1 THEN n ELSE n END, CASE WHEN k = 1 THEN t ELSE '2024-01-02 03:04:05.123456' END, CASE WHEN v > 0 THEN v END FROM md_t, md_wide;
SELECT coalesce(a, 'longer than it is declared'), coalesce(a, a), coalesce(a, a::varchar), coalesce(c, c), coalesce(c, 'abc'), coalesce(t, t), coalesce(n, 0), coalesce(n, n), coalesce(n, 1.5), coalesce(n, '1.2345'), coalesce(n + 0, '1.2345') FROM md_t;
SELECT greatest(a, 'longer than it is declared'), least(a, a), greatest(c, c), greatest(n, n), greatest(n, '1.2345'), greatest(t, t), nullif(a, 'x'), nullif(c, 'x'), nullif(n, 1), nullif(t, t) FROM md_t;
SELECT ARRAY[a], ARRAY[a, 'longer than it is declared'], ARRAY[c], ARRAY[c, 'abc'], ARRAY[n], ARRAY[n, '1.2345'], ARRAY[a, a::varchar(3)], ARRAY[t], ARRAY[t, NULL] FROM md_t;
VALUES ('a'::varchar(3)), ('b'::varchar(3));
VALUES ('a'::varchar(3)), ('longer than it is declared');
VALUES ('a'::varchar(3)), ('b'::varchar(4));
VALUES ('a'::char(3)), (NULL);
SELECT * FROM (VALUES (1.5::numeric(4,2)), (2::numeric(4,2))) AS v(x);
SELECT a FROM md_t JOIN (SELECT a::varchar(5) FROM md_t) AS s USING (a);
SELECT * FROM md_t JOIN (SELECT n::numeric(12,4), c FROM md_t) AS s USING (c, n);
SELECT n FROM md_t FULL JOIN (SELECT n FROM md_t) AS s USING (n);
-- Functions and operators declare nothing; what takes a part or gives an argument on does
SELECT max(a), min(c), max(t), min(n), max(iv), array_agg(n), array_agg(c), percentile_disc(0.5) WITHIN GROUP (ORDER BY n), mode() WITHIN GROUP (ORDER BY c) FROM md_t;
SELECT max(c) OVER (), first_value(a) OVER (), lag(n) OVER (ORDER BY k), lag(c) OVER (ORDER BY k), lag(c, 1, 'zzz') OVER (ORDER BY k), lag(a, 1, 'longer than it is declared') OVER (ORDER BY k), lag(n, 1, '1.2345') OVER (ORDER BY k) FROM md_t;
SELECT array_append(an, '1.2345'), array_append(av, 'longer than it is declared'), array_append(ac, 'abcd'), an || '{1.2345}', av || '{longer than it is declared}', array_replace(av, 'a', 'longer than it is declared') FROM md_t;
SELECT a || 'x', upper(a), n + 1, -n, t + interval '1 day', b & b, b || b, ~b, iv + iv, date_trunc('day', t) FROM md_t;
SELECT av[1], an[1], ac[1], av[1:1], at[1], ab[1], (SELECT a FROM md_t WHERE k = 1), ARRAY(SELECT c FROM md_t ORDER BY k) FROM md_t;
SELECT unnest(av), unnest(an), unnest(ac) FROM md_t;
SELECT * FROM unnest(ARRAY['a'::varchar(3)], ARRAY[1.5::numeric(4,2)]) AS u(x, y);
SELECT current_timestamp(2), localtimestamp(3), localtime(1), current_time(0) FROM md_t WHERE false;
SELECT md_one(a), md_one(a || 'more') FROM md_t;
SELECT * FROM md_set();
SELECT md_set();
SELECT * FROM md_table();
SELECT * FROM md_rows();
SELECT * FROM md_out();
SELECT (ROW('a', 'b', 1)::md_r).*;
SELECT (ROW('a', 'b', 1)::md_r).a::varchar, (ROW('a', 'b', 1)::md_r).b::bpchar, (ROW('a', 'b', 1)::md_r).c::numeric;
-- Domains
SELECT d, d::varchar, max(d) OVER (), coalesce(d, 'longer'), coalesce(d, d), e, e[1], n, n::numeric, n + 1, c, c::bpchar, d::varchar(2) FROM md_domains;
SELECT pg_typeof(d), pg_typeof(d::varchar), pg_typeof(coalesce(d, 'x')), pg_typeof(coalesce(d, d)), pg_typeof(CASE WHEN n > 0 THEN d END), pg_typeof(e::varchar[]), pg_typeof(n::numeric), pg_typeof(least(d, 'x')) FROM md_domains;
SELECT d, pg_typeof(d) FROM (SELECT d FROM md_domains UNION ALL SELECT 'longer') AS s;
-- What is made of a query
CREATE TABLE md_made AS SELECT a::varchar AS va, a, c, t::timestamp AS tt, t, n::numeric AS nn, n, av::varchar[] AS vv, av, b::varbit AS bb, iv::interval AS ii, iv, im::interval AS imm, im, coalesce(a, 'x') AS ca FROM md_t;
SELECT column_name, data_type, character_maximum_length, numeric_precision, numeric_scale, datetime_precision, interval_type, udt_name FROM information_schema.columns WHERE table_name = 'md_made' ORDER BY ordinal_position;
SELECT attname, atttypmod, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'md_made'::regclass AND attnum > 0 ORDER BY attnum;
-- a type that is looked up by its name, with a modifier
SELECT format_type('varchar'::regtype, 14), format_type('numeric'::regtype, 655366), format_type('varchar'::regtype, x), format_type('bpchar'::regtype, (SELECT -1)) FROM (VALUES (1), (9)) AS v(x);
SELECT * FROM md_made;
CREATE VIEW md_view AS SELECT a::varchar AS va, a, c::bpchar AS cb, c, t::timestamp AS tt, t, n::numeric AS nn, n, av::varchar[] AS vv, av, max(iv) OVER () AS ii FROM md_t;
SELECT attname, atttypmod, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'md_view'::regclass AND attnum > 0 ORDER BY attnum;
SELECT * FROM md_view;
CREATE TABLE md_into (v varchar(3), w varchar, c char(2));
INSERT INTO md_into SELECT a::varchar, a, c::bpchar FROM md_t;
-- error 22001
INSERT INTO md_into SELECT (a || 'x')::varchar, a, c FROM md_t;
-- error 22001
INSERT INTO md_into (c) SELECT 'abc'::bpchar FROM md_t;
UPDATE md_into SET w = v::varchar, c = c::bpchar RETURNING v, v::varchar, w, c, c::bpchar;
SELECT s::varchar(2)[], s::char(2)[], '{1.26}'::text::numeric(3,1)[], '{1,101}'::text::bit(2)[] FROM (SELECT '{abc,def}'::text AS s) AS t;
-- Defaults as the catalog shows them
CREATE TABLE md_defaults (a varchar(5) DEFAULT 'x', b char(5) DEFAULT 'y', c bit(3) DEFAULT B'101', d bit varying(5) DEFAULT X'1', e interval(0) DEFAULT '1.6 s', f interval DEFAULT '90 min', g interval day to minute DEFAULT '1 day 2:03:04', h timestamp(1) DEFAULT '2024-01-01 00:00:00.16', i timestamp DEFAULT '2024-01-01', j date DEFAULT '2024-1-5', k time(0) DEFAULT '1:02:03.6', l numeric(5,2) DEFAULT '1.239', m numeric DEFAULT '5', n float8 DEFAULT '1.50', o integer DEFAULT '07', p integer DEFAULT '-7', q varchar(3)[] DEFAULT '{a}', r integer[] DEFAULT '{1, 2}', s uuid DEFAULT 'A0EEBC99-9c0b-4ef8-bb6d-6bb9bd380a11', t bytea DEFAULT 'abc', u jsonb DEFAULT '{"a":1,  "b":2}', v json DEFAULT '{"a":1,  "b":2}', w boolean DEFAULT 'on', x bigint DEFAULT '5', y money DEFAULT '1.5', z int4range DEFAULT '[1,5]', aa bit DEFAULT '1', ab timestamp DEFAULT 'infinity', ac text DEFAULT 'it''s', ad float4 DEFAULT '1e10', ae inet DEFAULT '1.2.3.4/32');
SELECT attname, pg_get_expr(adbin, adrelid) FROM pg_attrdef JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum WHERE adrelid = 'md_defaults'::regclass ORDER BY attnum;
INSERT INTO md_defaults DEFAULT VALUES;
SELECT * FROM md_defaults;
-- messages
-- error 22023
SELECT 'a'::varchar(0);
-- error 22023
SELECT 'a'::char(0);
-- error 22023
SELECT 'a'::varchar(10485761);
-- error 22023
CREATE TABLE md_long (c char(10485761));
-- error 22023
SELECT B'1'::bit(0);
-- error 22023
SELECT B'1'::varbit(83886081);
-- error 22023
SELECT 1.5::float(0);
-- error 22023
SELECT 1.5::float(54);
-- error 42804
WITH RECURSIVE r(x) AS (SELECT im FROM md_t UNION ALL SELECT x + im FROM r, md_t) SELECT x FROM r;
-- error 42804
WITH RECURSIVE r(x) AS (SELECT iv FROM md_t UNION ALL SELECT x + iv FROM r, md_t) SELECT x FROM r;
-- error 42804
WITH RECURSIVE r(x) AS (SELECT iv::interval second(1) FROM md_t UNION ALL SELECT x + iv FROM r, md_t) SELECT x FROM r;
-- error 42804
WITH RECURSIVE r(x) AS (SELECT t FROM md_t UNION ALL SELECT x::timestamp FROM r) SELECT x FROM r;
-- error 42804
WITH RECURSIVE r(x) AS (SELECT av FROM md_t UNION ALL SELECT x || av FROM r, md_t) SELECT x FROM r;
-- error 42804
WITH RECURSIVE r(x) AS (SELECT c FROM md_t UNION ALL SELECT x::char FROM r) SELECT x FROM r;
