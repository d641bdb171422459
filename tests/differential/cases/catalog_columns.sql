-- Columns of the types of the system catalog: name and oid.
-- cases
CREATE TABLE nm (a name, b oid, c name[], d oid[]);
INSERT INTO nm VALUES ('abc', 5, '{x,y}', '{1,4294967295}'), (repeat('x', 70)::name, 4000000000, NULL, NULL), ('abc', 7, '{}', '{}'), (NULL, NULL, NULL, NULL);
SELECT a, length(a::text), b, c, d FROM nm ORDER BY b;
SELECT * FROM nm WHERE b = 5 AND a = 'abc';
SELECT a, count(*), max(b) FROM nm GROUP BY a ORDER BY a;
SELECT x.b, y.b FROM nm x JOIN nm y ON x.a = y.a WHERE x.b < y.b ORDER BY 1;
SELECT b > 6, b::int8 + 1, b::text AS shown, a || '!', upper(a) FROM nm ORDER BY nm.b;
SELECT DISTINCT a FROM nm ORDER BY a;
SELECT pg_typeof(a), pg_typeof(b) FROM nm LIMIT 1;
INSERT INTO nm (a, b) VALUES ('q', -1);
-- error 22003
INSERT INTO nm (b) VALUES (5000000000);
-- error 22P02
INSERT INTO nm (b) VALUES ('x');
UPDATE nm SET a = 'new' WHERE b > 6;
SELECT a, b FROM nm ORDER BY b DESC, a;
DELETE FROM nm WHERE a = 'abc';
SELECT count(*) FROM nm;
CREATE TABLE nm_two AS SELECT relname, oid, relkind::text AS kind FROM pg_class WHERE relname IN ('pg_class', 'pg_type');
SELECT * FROM nm_two ORDER BY oid;
SELECT c.relname FROM nm_two t JOIN pg_class c ON c.oid = t.oid AND c.relname = t.relname ORDER BY 1;
CREATE VIEW nm_view AS SELECT relname, oid FROM pg_class WHERE relname = 'pg_type';
SELECT * FROM nm_view;
ALTER TABLE nm ADD COLUMN e name DEFAULT 'some', ADD COLUMN f oid DEFAULT 9;
SELECT e, f FROM nm LIMIT 1;
ALTER TABLE nm ALTER COLUMN e TYPE text, ALTER COLUMN f TYPE bigint;
SELECT e, f FROM nm LIMIT 1;
CREATE TABLE nm_key (a name PRIMARY KEY, b oid UNIQUE);
INSERT INTO nm_key VALUES ('a', 1), ('b', 2);
-- error 23505
INSERT INTO nm_key VALUES ('a', 3);
-- error 23505
INSERT INTO nm_key VALUES ('c', 2);
SELECT column_name, data_type, udt_name FROM information_schema.columns WHERE table_name = 'nm_key' ORDER BY 1;
