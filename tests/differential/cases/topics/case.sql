-- CASE, COALESCE, NULLIF, GREATEST and LEAST: types, NULLs, order of evaluation, nesting.
-- setup
CREATE TABLE tc (i integer, f double precision, t text, n numeric(6,3), d date);
INSERT INTO tc VALUES (1, 10.1, 'one', 1.500, '2020-01-01'), (2, 20.2, 'two', NULL, '2021-01-01'), (3, -30.3, NULL, 3.125, NULL), (4, NULL, 'four', -4.000, '2022-01-01'), (NULL, 0, '', 0, '2019-06-30');
CREATE TABLE tc2 (i integer, j integer);
INSERT INTO tc2 VALUES (1, -1), (2, -2), (3, -3), (2, -4), (1, NULL), (NULL, -6);
-- cases
SELECT '3' AS "One", CASE WHEN 1 < 2 THEN 3 END AS "Simple WHEN";
SELECT '<NULL>' AS "One", CASE WHEN 1 > 2 THEN 3 END AS "Simple default";
SELECT CASE WHEN 1 < 2 THEN 3 ELSE 4 END AS a, CASE WHEN 1 > 2 THEN 3 ELSE 4 END AS b;
SELECT CASE WHEN 1 > 2 THEN 3 WHEN 4 < 5 THEN 6 ELSE 7 END AS "Two WHEN";
SELECT CASE WHEN NULL THEN 1 ELSE 2 END, CASE WHEN i > 2 THEN 'big' WHEN i <= 2 THEN 'small' END FROM tc;
SELECT CASE 1 WHEN 0 THEN 1/0 WHEN 1 THEN 1 ELSE 2/0 END;
SELECT i, CASE WHEN i = 3 THEN 0 ELSE 6 / (i - 3) END FROM tc;
SELECT CASE 'a' WHEN 'a' THEN 1 ELSE 2 END, CASE 'a' WHEN 'b' THEN 1 END;
SELECT CASE i WHEN 1 THEN 'uno' WHEN 2 THEN 'due' WHEN NULL THEN 'never' ELSE '?' END FROM tc;
SELECT CASE t WHEN 'one' THEN i WHEN 'two' THEN i * 10 ELSE -1 END FROM tc;
SELECT CASE WHEN i < 3 THEN i ELSE f END FROM tc;
SELECT CASE WHEN i < 3 THEN i ELSE n END FROM tc;
SELECT CASE WHEN i < 3 THEN n ELSE f END FROM tc;
SELECT CASE WHEN i < 3 THEN 1.5 WHEN i = 3 THEN 2 ELSE 3.25 END FROM tc;
SELECT CASE WHEN true THEN 1 ELSE 2.0 END, CASE WHEN false THEN 1 ELSE 2.0 END;
SELECT CASE WHEN i > 2 THEN d ELSE '2000-02-29' END FROM tc;
SELECT CASE WHEN i > 2 THEN d ELSE timestamp '2000-02-29 01:02:03' END FROM tc;
SELECT CASE WHEN i > 2 THEN NULL ELSE NULL END FROM tc;
SELECT pg_typeof(CASE WHEN true THEN 1 ELSE 2::bigint END), pg_typeof(CASE WHEN true THEN 1::smallint ELSE 2.5 END), pg_typeof(CASE WHEN true THEN 'a' ELSE 'b'::varchar(3) END);
SELECT pg_typeof(CASE WHEN true THEN NULL END), pg_typeof(coalesce(NULL, 1.5)), pg_typeof(nullif(1, 2.5)), pg_typeof(greatest(1, 2.5));
SELECT coalesce(i, 0), coalesce(f, i), coalesce(t, 'none'), coalesce(NULL, NULL, n, -1) FROM tc;
SELECT coalesce(1, 1/0), coalesce(NULL, 2);
SELECT nullif(i, 2), nullif(t, ''), nullif(f, 0), nullif(n, 1.5) FROM tc;
SELECT nullif(1, 1), nullif(NULL, 1), nullif(1, NULL), nullif(1, 1.0), nullif(1.50, 1.5);
SELECT greatest(1, 2, NULL, 3), least(3, NULL, 1), greatest(NULL, NULL), least(1.5, 1.50, 2), greatest('b', 'a', 'B');
SELECT greatest(i, f, n), least(i, f, n) FROM tc;
SELECT greatest(d, '2020-06-01'), least(d, '2020-06-01'::timestamp) FROM tc;
SELECT a.i, b.i, coalesce(f, b.i), nullif(a.i, b.i), nullif(b.i, 4) FROM tc a, tc2 b WHERE a.i = b.i;
SELECT * FROM tc WHERE coalesce(f, i) = 4;
SELECT * FROM tc WHERE nullif(f, i) = 2;
SELECT coalesce(a.f, b.i, b.j) FROM tc a, tc2 b;
SELECT * FROM tc a, tc2 b WHERE coalesce(a.f, b.i, b.j) = 2;
SELECT CASE WHEN i >= 3 THEN (i + i) ELSE i END AS "If", sum(f) FROM tc GROUP BY 1;
SELECT sum(CASE WHEN i > 1 THEN n END), count(CASE WHEN t = '' THEN 1 END), max(CASE i WHEN 1 THEN f ELSE 0 END) FROM tc;
SELECT CASE WHEN i IS NULL THEN 'n' ELSE CASE WHEN i % 2 = 0 THEN CASE t WHEN 'two' THEN '2' ELSE 'even' END ELSE 'odd' END END FROM tc;
SELECT CASE WHEN EXISTS (SELECT 1 FROM tc2 WHERE tc2.i = tc.i) THEN 'has' ELSE 'none' END, CASE i WHEN (SELECT max(i) FROM tc2) THEN 'max' END FROM tc;
SELECT CASE (SELECT 2) WHEN 1 THEN 'x' WHEN 2 THEN 'y' END, CASE ARRAY[1, 2] WHEN ARRAY[1, 2] THEN 'same' END;
SELECT CASE 2.0 WHEN 2 THEN 'eq' END, CASE 2 WHEN 2.00 THEN 'eq' END, CASE 'a'::char(3) WHEN 'a  ' THEN 'padded' END;
-- ordered
SELECT i FROM tc ORDER BY CASE WHEN i IS NULL THEN 0 WHEN i > 2 THEN -i ELSE i END;
SELECT count(*), CASE WHEN i > 2 THEN 'hi' ELSE 'lo' END AS h FROM tc GROUP BY h HAVING CASE WHEN count(*) > 2 THEN true ELSE false END;
UPDATE tc2 SET i = CASE WHEN i >= 3 THEN (-i) ELSE (2 * i) END;
SELECT * FROM tc2;
UPDATE tc2 SET i = CASE WHEN b.i >= 2 THEN (2 * tc2.j) ELSE (3 * tc2.j) END FROM tc b WHERE tc2.j = -b.i;
SELECT * FROM tc2;
SELECT volfoo FROM (SELECT CASE WHEN true THEN 'bar' END AS volfoo) s;
-- error 42804
SELECT CASE WHEN 1 THEN 2 END;
-- error 22P02
SELECT CASE WHEN true THEN 1 ELSE 'x' END;
-- error 42804
SELECT CASE WHEN true THEN 1 ELSE true END;
-- error 22P02
SELECT CASE 1 WHEN 'a' THEN 1 END;
-- error 42883
SELECT CASE t WHEN 1 THEN 2 END FROM tc;
-- error 22P02
SELECT coalesce(1, 'x');
-- error 42804
SELECT coalesce(i, t) FROM tc;
-- error 42883
SELECT nullif(t, 1) FROM tc;
-- error 42804
SELECT greatest(1, true);
-- error 42601
SELECT coalesce();
-- error 42601
SELECT greatest();
-- error 42601
SELECT CASE END;
-- error 0A000
SELECT CASE generate_series(1, 2) WHEN 1 THEN 'a' ELSE 'b' END;
-- error 0A000
SELECT CASE WHEN i = 1 THEN generate_series(1, 2) END FROM tc;
