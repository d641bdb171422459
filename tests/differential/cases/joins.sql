-- Joins of every kind: empty sides, NULL keys, duplicates, USING and NATURAL, conditions that are not equalities.
-- setup
CREATE TABLE jn_dept (id integer PRIMARY KEY, name text, boss integer);
CREATE TABLE jn_emp (id integer, name text, dept integer, salary numeric(10,2), hired date);
CREATE TABLE jn_empty (id integer, note text);
CREATE TABLE jn_grade (low numeric(10,2), high numeric(10,2), grade text);
INSERT INTO jn_dept VALUES (1, 'sales', 10), (2, 'research', 12), (3, 'empty one', NULL), (4, NULL, 99);
INSERT INTO jn_emp VALUES
  (10, 'Ann', 1, 5000.00, '2020-02-29'), (11, 'Bob', 1, 4000.50, '2021-01-01'), (12, 'Cyd', 2, 7000.00, '2019-12-31'),
  (13, 'Dan', NULL, 100.00, NULL), (14, 'Eve', 9, NULL, '2022-06-15'), (15, 'Ann', 2, 5000.00, '2020-02-29');
INSERT INTO jn_grade VALUES (0, 999.99, 'low'), (1000, 4999.99, 'mid'), (5000, 99999, 'high');
CREATE TABLE jn_many AS SELECT generate_series(1, 400) AS id;
-- cases
SELECT e.name, d.name FROM jn_emp e JOIN jn_dept d ON e.dept = d.id;
SELECT e.name, d.name FROM jn_emp e LEFT JOIN jn_dept d ON e.dept = d.id;
SELECT e.name, d.name FROM jn_emp e RIGHT JOIN jn_dept d ON e.dept = d.id;
SELECT e.id, d.id FROM jn_emp e FULL JOIN jn_dept d ON e.dept = d.id;
SELECT count(*) FROM jn_emp CROSS JOIN jn_dept;
SELECT count(*) FROM jn_emp, jn_dept, jn_grade;
SELECT e.name, n.note FROM jn_emp e LEFT JOIN jn_empty n ON n.id = e.id;
SELECT e.name, n.note FROM jn_emp e JOIN jn_empty n ON n.id = e.id;
SELECT n.*, e.id FROM jn_empty n RIGHT JOIN jn_emp e USING (id);
SELECT * FROM jn_empty n FULL JOIN jn_empty m ON n.id = m.id;
SELECT * FROM jn_emp JOIN jn_empty USING (id);
SELECT * FROM jn_emp LEFT JOIN jn_empty USING (id);
SELECT id, note FROM jn_empty FULL JOIN jn_dept USING (id);
SELECT * FROM jn_dept NATURAL JOIN jn_emp;
SELECT id, name FROM jn_dept NATURAL LEFT JOIN (SELECT id, note FROM jn_empty) s;
SELECT a.name, b.name FROM jn_emp a JOIN jn_emp b ON a.salary = b.salary AND a.id < b.id;
SELECT a.id, b.id FROM jn_emp a JOIN jn_emp b ON a.dept IS NOT DISTINCT FROM b.dept WHERE a.id <> b.id;
SELECT e.name, g.grade FROM jn_emp e JOIN jn_grade g ON e.salary BETWEEN g.low AND g.high;
SELECT e.name, g.grade FROM jn_emp e LEFT JOIN jn_grade g ON e.salary >= g.low AND e.salary <= g.high AND g.grade <> 'low';
SELECT d.name, e.name, b.name AS boss FROM jn_dept d LEFT JOIN jn_emp e ON e.dept = d.id LEFT JOIN jn_emp b ON b.id = d.boss;
SELECT d.id, count(e.id), sum(e.salary) FROM jn_dept d LEFT JOIN jn_emp e ON e.dept = d.id GROUP BY d.id;
SELECT e.name FROM jn_emp e LEFT JOIN jn_dept d ON e.dept = d.id AND d.name = 'sales' WHERE d.id IS NULL;
SELECT e.name FROM jn_emp e LEFT JOIN jn_dept d ON false;
SELECT e.id, d.id FROM jn_emp e FULL JOIN jn_dept d ON e.dept = d.id WHERE e.id IS NULL OR d.id IS NULL;
SELECT d.id, x.name FROM jn_dept d, LATERAL (SELECT e.name FROM jn_emp e WHERE e.dept = d.id ORDER BY e.salary DESC, e.id LIMIT 1) x;
SELECT d.id, x.n FROM jn_dept d LEFT JOIN LATERAL (SELECT count(*) AS n FROM jn_emp e WHERE e.dept = d.id) x ON true;
SELECT (e).name FROM (SELECT 1 AS x) s JOIN jn_emp e ON e.id = 10;
SELECT x.a, x.b FROM jn_dept d JOIN jn_emp e ON d.id = e.dept JOIN (VALUES (10, 'ten'), (12, 'twelve')) AS x(a, b) ON x.a = e.id;
SELECT * FROM (jn_dept d JOIN jn_emp e ON d.id = e.dept) LEFT JOIN jn_grade g ON g.low = e.salary WHERE d.id = 1;
SELECT j.id FROM (jn_emp JOIN jn_empty USING (id)) AS j;
-- Subqueries in ON: of the nullable side, of the side that stays, of both; NULLs decide as in WHERE.
SELECT d.id, e.id FROM jn_dept d LEFT JOIN jn_emp e ON e.dept = d.id AND e.id IN (SELECT boss FROM jn_dept);
SELECT d.id, e.id FROM jn_dept d LEFT JOIN jn_emp e ON e.dept = d.id AND e.id NOT IN (SELECT boss FROM jn_dept);
SELECT d.id, e.id FROM jn_dept d LEFT JOIN jn_emp e ON e.dept = d.id AND e.id NOT IN (SELECT boss FROM jn_dept WHERE boss IS NOT NULL);
SELECT e.id, d.id FROM jn_emp e LEFT JOIN jn_dept d ON e.dept IN (SELECT id FROM jn_dept WHERE name <> 'sales');
SELECT e.id, d.id FROM jn_emp e LEFT JOIN jn_dept d ON e.dept NOT IN (SELECT boss FROM jn_dept);
SELECT e.id, d.id FROM jn_emp e LEFT JOIN jn_dept d ON (e.dept, e.id) IN (SELECT id, boss FROM jn_dept) AND e.dept = d.id;
SELECT e.id, d.id FROM jn_emp e RIGHT JOIN jn_dept d ON e.dept = d.id AND NOT EXISTS (SELECT FROM jn_dept b WHERE b.boss = e.id);
SELECT e.id, d.id FROM jn_emp e FULL JOIN jn_dept d ON e.dept = d.id AND e.id IN (SELECT boss FROM jn_dept);
SELECT e.id, d.id FROM jn_emp e FULL JOIN jn_dept d ON e.dept = d.id AND NOT d.boss IN (SELECT boss FROM jn_dept WHERE id < 2);
SELECT e.id, d.id FROM jn_emp e JOIN jn_dept d ON e.dept = d.id AND (e.salary > 3000 OR d.boss IN (SELECT id FROM jn_emp));
SELECT e.id, d.id FROM jn_emp e LEFT JOIN jn_dept d ON EXISTS (SELECT FROM jn_emp b WHERE b.dept = d.id AND b.salary > e.salary);
SELECT e.id, d.id FROM jn_emp e JOIN jn_dept d ON CASE WHEN e.dept IS NULL THEN d.boss IN (SELECT id FROM jn_empty) ELSE e.dept = d.id END;
SELECT e.id, d.id FROM jn_emp e LEFT JOIN jn_dept d ON e.dept = d.id AND EXISTS (SELECT FROM jn_empty);
-- error 42702
SELECT id FROM jn_emp JOIN jn_dept ON true;
-- error 42P01
SELECT jn_emp.id FROM jn_emp e;
-- error 42712
SELECT 1 FROM jn_emp e, jn_dept e;
-- error 42703
SELECT * FROM jn_emp JOIN jn_dept USING (salary);
-- error 42804
SELECT * FROM jn_emp e JOIN jn_dept d ON e.id;
-- error 42883
SELECT * FROM jn_emp e JOIN jn_dept d ON e.name = d.id;
-- error 42P01
SELECT * FROM jn_emp e JOIN (SELECT * FROM jn_dept d WHERE d.id = e.dept) s ON true;
-- What tells 0 and -0 apart of one side does not hold for the other.
SELECT a.x::text, b.x::text FROM (VALUES (0::float8), ('-0')) AS a(x) JOIN (VALUES (0::float8), ('-0')) AS b(x) ON a.x = b.x WHERE a.x::text = '0';
SELECT count(*) FROM (VALUES (0::float8), ('-0')) AS a(x) WHERE EXISTS (SELECT FROM (VALUES ('-0'::float4)) AS b(x) WHERE b.x = a.x) AND x::text = '0';
-- Values of 64 bits beside a partner, those of one bit pattern or of both ends among them.
SELECT e.id, w.v, w.u FROM jn_emp e JOIN (VALUES (10, -1, -1::bigint), (11, 5000000000, NULL), (12, -2, 0)) AS w(k, v, u) ON w.k = e.id;
SELECT sum(w.v), count(w.v), min(w.u), count(*) FROM jn_emp e LEFT JOIN (VALUES (10, -1, -1::bigint), (11, 5000000000, NULL), (12, -2, 7000000000)) AS w(k, v, u) ON w.k = e.id;
SELECT e.id, w.v FROM jn_emp e LEFT JOIN (VALUES (10, -1), (11, 9223372036854775807), (12, -9223372036854775808)) AS w(k, v) ON w.k = e.id;
-- The least value of a narrow type beside NULLs.
SELECT e.id, s.v FROM jn_emp e LEFT JOIN (VALUES (10, (-32768)::smallint), (11, NULL), (12, 32767)) AS s(k, v) ON s.k = e.id;
-- Constants first, beside columns that a join with one row fills with one value.
SELECT DISTINCT e.id < 0, 'b' <= x.t, 1.5 > x.f, DATE '2020-01-01' = x.d, true <> x.b, 3 < x.n, 2.5 >= x.m FROM jn_many e CROSS JOIN (SELECT max(name), max(id)::float8 / 4, max(hired), bool_and(id > 0), count(*), max(salary) FROM jn_emp) AS x(t, f, d, b, n, m);
SELECT DISTINCT e.id < 0, 'b' BETWEEN 'a' AND x.t, greatest(x.t, 'M'), least('M', x.t), 'Ann' IS DISTINCT FROM x.t, DATE '2020-01-01' < x.h, nullif('Eve', x.t) FROM jn_many e CROSS JOIN (SELECT max(name), max(hired)::timestamp FROM jn_emp) AS x(t, h);
SELECT DISTINCT e.id % 3, substr('abcdef', x.n), substr('abcdef', x.n, x.n), substr('abcdef', e.id % 3, x.n) FROM jn_many e CROSS JOIN (SELECT min(dept) + 1 FROM jn_emp) AS x(n);
