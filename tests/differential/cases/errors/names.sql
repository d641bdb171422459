-- Names that do not exist, are ambiguous or out of reach: message, detail, hint and position are PostgreSQL's.
-- setup
CREATE TABLE er_person (id integer PRIMARY KEY, first_name text, last_name text, born date, height numeric(5,2));
CREATE TABLE er_order (order_id integer, person_id integer, total numeric(10,2), placed timestamp, note text);
CREATE TABLE er_wide (alpha integer, alpho integer, alphi integer, beta integer);
CREATE SCHEMA er_s;
CREATE TABLE er_s.inner_one (a integer, b text);
CREATE VIEW er_view AS SELECT id, first_name FROM er_person;
-- messages
-- error 42703
SELECT nothing FROM er_person;
-- error 42703
SELECT firstname FROM er_person;
-- error 42703
SELECT frist_name FROM er_person;
-- error 42703
SELECT p.firstname FROM er_person p;
-- error 42703
SELECT p.fist_name, id FROM er_person AS p;
-- error 42703
SELECT lastname FROM er_person, er_order;
-- error 42703
SELECT o.orderid FROM er_order o;
-- error 42703
SELECT ordr_id FROM er_order;
-- error 42703
SELECT alpha, alphe FROM er_wide;
-- error 42703
SELECT alph FROM er_wide;
-- error 42703
SELECT aplha FROM er_wide;
-- error 42703
SELECT bet FROM er_wide;
-- error 42P01
SELECT x.id FROM er_person;
-- error 42P01
SELECT person.id FROM er_person;
-- error 42P01
SELECT er_person.id FROM er_person p;
-- error 42P01
SELECT er_preson.id FROM er_person;
-- error 42P01
SELECT p.id FROM er_person p, er_order o WHERE q.total > 1;
-- error 42P01
SELECT * FROM nowhere;
-- error 42P01
SELECT * FROM er_s.nowhere;
-- error 42P01
SELECT * FROM nowhere.er_person;
-- error 42P01
SELECT * FROM er_person, nowhere n;
-- error 42P01
SELECT * FROM er_person JOIN nowhere USING (id);
-- error 42703
SELECT id FROM er_person WHERE hight > 1;
-- error 42703
SELECT id FROM er_person ORDER BY hight;
-- error 42703
SELECT id FROM er_person GROUP BY hight;
-- error 42703
SELECT id FROM er_person p WHERE p.hight > 1 AND id = 3;
-- error 42702
SELECT id FROM er_person a, er_person b;
-- error 42702
SELECT person_id FROM er_order a JOIN er_order b ON person_id = 1;
-- error 42712
SELECT a.id, b.id FROM er_person a, er_person a;
-- error 42P01
SELECT er_person.* FROM er_person p;
-- error 42P01
SELECT q.* FROM er_person p;
-- error 42P01
SELECT * FROM er_person p, (SELECT p.id) s;
-- error 42703
SELECT * FROM er_person p, (SELECT id) s;
-- error 42P01
SELECT * FROM er_person p JOIN er_order o ON q.id = o.person_id;
-- error 42P01
SELECT * FROM er_person p, er_order o JOIN er_wide w ON w.beta = p.id;
-- error 42703
SELECT * FROM er_person p, er_order o JOIN er_wide w ON beta = first_name::integer;
-- error 42703
SELECT (SELECT nothere FROM er_order) FROM er_person;
-- error 42703
SELECT (SELECT o.firstname FROM er_order o) FROM er_person p;
-- error 42703
SELECT p.id FROM er_person p WHERE EXISTS (SELECT 1 FROM er_order WHERE persn_id = p.id);
-- error 42703
SELECT p.id FROM er_person p WHERE EXISTS (SELECT 1 FROM er_order WHERE person_id = p.idd);
-- error 42703
SELECT first_name AS f FROM er_person WHERE f = 'x';
-- error 42703
SELECT first_name AS f, length(f) FROM er_person;
-- error 42703
SELECT count(*) AS n FROM er_person HAVING n > 1;
-- error 42883
SELECT frobnicate(1);
-- error 42883
SELECT frobnicate();
-- error 42883
SELECT frobnicate(id, first_name, NULL, 'x', 1.5) FROM er_person;
-- error 42883
SELECT lenght('abc');
-- error 42883
SELECT er_s.frobnicate(1);
-- error 3F000
SELECT nowhere.length('a');
-- error 42883
SELECT length(1);
-- error 42883
SELECT length('a', 'b', 'c');
-- error 42883
SELECT upper(1, 2);
-- error 42883
SELECT sum('a'::text);
-- error 42883
SELECT round('x'::text, 2);
-- error 42883
SELECT substring(1, 2, 3, 4);
-- error 42883
SELECT date_trunc(1, 2);
-- error 22007
SELECT sqrt('a'::date);
-- error 42883
SELECT now(1);
-- error 42883
SELECT abs(true);
-- error 42883
SELECT lower(ARRAY[1]);
-- error 42883
SELECT 1 + 'a'::text;
-- error 42883
SELECT 'a'::text + 'b'::text;
-- error 42883
SELECT true + 1;
-- error 42883
SELECT date '2020-01-01' + date '2020-01-02';
-- error 42883
SELECT 1 || 2;
-- error 42883
SELECT 1 ~ 2;
-- error 42883
SELECT -'a'::text;
-- error 42804
SELECT NOT 1;
-- error 42883
SELECT ! 5;
-- error 42883
SELECT 1 === 2;
-- error 42883
SELECT first_name = id FROM er_person;
-- error 42883
SELECT first_name > 1 FROM er_person;
-- error 42883
SELECT born = id FROM er_person;
-- error 42883
SELECT born < 5 FROM er_person;
-- error 42883
SELECT ARRAY[1] = ARRAY['a'::text];
-- error 42883
SELECT id FROM er_person WHERE first_name IN (1, 2);
-- error 42883
SELECT id FROM er_person WHERE id IN ('a'::text, 'b'::text);
-- error 42883
SELECT id FROM er_person WHERE born BETWEEN 1 AND 2;
-- error 42883
SELECT id FROM er_person WHERE id LIKE '1%';
-- error 42883
SELECT id FROM er_person WHERE first_name = ANY (ARRAY[1, 2]);
-- error 42809
SELECT id FROM er_person WHERE id = ANY (5);
-- error 42704
SELECT CAST(1 AS nosuch);
-- error 42704
SELECT 'a'::nosuch;
-- error 42704
SELECT 'a'::er_s.nosuch;
-- error 42704
SELECT 1::text::nosuch[];
-- error 42846
SELECT CAST(true AS date);
-- error 42846
SELECT CAST(born AS integer) FROM er_person;
-- error 42846
SELECT date '2020-01-01'::boolean;
-- error 42846
SELECT 1.5::bytea;
-- error 22P02
SELECT ARRAY[1, 'a', 2.5];
-- error 42704
SELECT first_name COLLATE "nosuch" FROM er_person;
-- error 42804
SELECT id COLLATE "C" FROM er_person;
-- error 42704
SELECT rank() OVER w FROM er_person;
-- error 42704
SELECT rank() OVER (w ORDER BY id) FROM er_person;
-- error 42P02
SELECT $1 + 1;
-- error 42P01
SELECT o.total.x FROM er_order o;
-- error 42804
SELECT id[1] FROM er_person;
-- error 42703
SELECT ctd FROM er_person;
-- error 42P01
INSERT INTO nowhere VALUES (1);
-- error 42703
INSERT INTO er_person (id, nothing) VALUES (1, 2);
-- error 42701
INSERT INTO er_person (id, id) VALUES (1, 2);
-- error 42601
INSERT INTO er_person (id) VALUES (1, 2);
-- error 42601
INSERT INTO er_person (id, born) VALUES (1);
-- error 42601
INSERT INTO er_person VALUES (1, 2, 3, 4, 5, 6);
-- error 42601
INSERT INTO er_person SELECT 1, 2, 3, 4, 5, 6;
-- error 42601
INSERT INTO er_person (id) SELECT 1, 2;
-- error 42703
INSERT INTO er_person (id) VALUES (nothing);
-- error 42804
INSERT INTO er_person (id, born) VALUES (1, 5);
-- error 42804
INSERT INTO er_person (id, born) SELECT 1, 5;
-- error 42703
INSERT INTO er_person (id) VALUES (1) RETURNING nothing;
-- error 22P02
INSERT INTO er_person (id) VALUES ('x');
-- error 42P01
UPDATE nowhere SET a = 1;
-- error 42703
UPDATE er_person SET nothing = 1;
-- error 42703
UPDATE er_person SET id = nothing;
-- error 42601
UPDATE er_person SET id = 1, id = 2;
-- error 42804
UPDATE er_person SET born = 5;
-- error 42703
UPDATE er_person SET id = 1 WHERE nothing = 1;
-- error 42P01
UPDATE er_person p SET id = 1 WHERE er_person.id = 1;
-- error 42703
UPDATE er_person SET p.id = 1;
-- error 42P01
UPDATE er_person SET id = o.total FROM er_order o WHERE oo.person_id = id;
-- error 42P01
DELETE FROM nowhere;
-- error 42703
DELETE FROM er_person WHERE nothing = 1;
-- error 42703
DELETE FROM er_person USING er_order o WHERE o.persn_id = id;
-- error 42P01
DELETE FROM er_person p WHERE er_person.id = 1;
-- error 42501
DROP TABLE pg_class;
-- error 42501
DROP TABLE pg_catalog.pg_class;
-- error 42501
ALTER TABLE pg_class ADD COLUMN x integer;
-- error 42P01
DROP TABLE nowhere;
-- error 42P01
DROP VIEW nowhere;
-- error 42809
DROP TABLE er_view;
-- error 42809
DROP VIEW er_person;
-- error 42P01
ALTER TABLE nowhere ADD COLUMN a integer;
-- error 42703
ALTER TABLE er_person DROP COLUMN nothing;
-- error 42701
ALTER TABLE er_person ADD COLUMN id integer;
-- error 42703
ALTER TABLE er_wide RENAME COLUMN nothing TO x;
-- error 42P07
ALTER TABLE er_wide RENAME TO er_order;
-- error 42P07
CREATE TABLE er_person (a integer);
-- error 42701
CREATE TABLE er_new (a integer, a text);
-- error 42704
CREATE TABLE er_new (a nosuch);
-- error 3F000
CREATE TABLE nowhere.t (a integer);
-- error 42P07
CREATE VIEW er_view AS SELECT 1 AS a;
-- error 42P06
CREATE SCHEMA er_s;
-- error 3F000
DROP SCHEMA nowhere;
-- error 42P01
TRUNCATE nowhere;
-- error 42P01
COPY nowhere FROM STDIN;
-- error 42703
COPY er_person (nothing) TO STDOUT;
-- error 26000
EXECUTE nothing;
-- error 26000
DEALLOCATE nothing;
-- error 34000
CLOSE nothing;
-- error 34000
FETCH FROM nothing;
-- error 42704
SHOW nothing;
-- error 42704
SET nothing TO 1;
-- error 25P01
ROLLBACK TO nothing;
-- error 42P20
SELECT sum(v) OVER (ORDER BY v ROWS 1 FOLLOWING) FROM (VALUES (1)) t(v);
-- error 42P20
SELECT sum(v) OVER (ORDER BY v ROWS BETWEEN 1 FOLLOWING AND CURRENT ROW) FROM (VALUES (1)) t(v);
-- error 42P20
SELECT sum(v) OVER (ORDER BY v ROWS BETWEEN CURRENT ROW AND 1 PRECEDING) FROM (VALUES (1)) t(v);
-- error 42P20
SELECT sum(v) OVER (ORDER BY v ROWS UNBOUNDED FOLLOWING) FROM (VALUES (1)) t(v);
-- error 42601
SELECT a.b.c.d.e;
-- error 42601
SELECT a.b.c.d.e.f;
-- error 0A000
SELECT a.b.c.d;
