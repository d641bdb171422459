-- What tools do around queries, and what broke there first.
-- setup
CREATE TABLE fb_m (a integer PRIMARY KEY, b text);
CREATE DOMAIN fb_nn AS integer NOT NULL;
CREATE DOMAIN fb_pos AS integer CHECK (VALUE > 0);
CREATE TABLE fb_d (a fb_pos[], b integer);
INSERT INTO fb_d VALUES ('{1,2}', 1);
-- cases
BEGIN;
INSERT INTO fb_m VALUES (1, 'x');
INSERT INTO fb_m VALUES (2, 'x');
INSERT INTO fb_m VALUES (3, 'x');
INSERT INTO fb_m VALUES (4, 'x');
INSERT INTO fb_m VALUES (5, 'x');
INSERT INTO fb_m VALUES (6, 'x');
INSERT INTO fb_m VALUES (7, 'x');
INSERT INTO fb_m VALUES (8, 'x');
INSERT INTO fb_m VALUES (9, 'x');
INSERT INTO fb_m VALUES (10, 'x');
INSERT INTO fb_m VALUES (11, 'x');
INSERT INTO fb_m VALUES (12, 'x');
INSERT INTO fb_m VALUES (13, 'x');
INSERT INTO fb_m VALUES (14, 'x');
INSERT INTO fb_m VALUES (15, 'x');
INSERT INTO fb_m VALUES (16, 'x');
INSERT INTO fb_m VALUES (17, 'x');
INSERT INTO fb_m VALUES (18, 'x');
INSERT INTO fb_m VALUES (19, 'x');
ALTER TABLE fb_m ADD COLUMN c integer;
COMMIT;
BEGIN;
ALTER TABLE fb_m ADD COLUMN d integer;
COMMIT;
SELECT count(*), count(d) FROM fb_m;
-- ordered
SELECT DISTINCT ON (a % 2) a % 2, generate_series(1, 2) FROM fb_m ORDER BY a % 2, 2;
-- ordered
SELECT DISTINCT ON (g) generate_series(1, 3) AS g, a FROM fb_m ORDER BY g, a;
-- error 23514
INSERT INTO fb_d VALUES ('{1,-2}', 1);
-- error 23514
SELECT '{1,-1}'::fb_pos[];
-- error 23514
UPDATE fb_d SET a = array[0];
-- messages
-- error 23502
ALTER TABLE fb_d ADD COLUMN c fb_nn;
-- cases
ALTER TABLE fb_d ADD COLUMN c fb_nn DEFAULT 3;
ALTER TABLE fb_d ADD COLUMN e fb_pos;
-- error 23514
ALTER TABLE fb_d ADD COLUMN f fb_pos DEFAULT -1;
INSERT INTO fb_d (b, c) VALUES (2, 2);
SELECT * FROM fb_d;
SELECT JSON_ARRAYAGG(j) FROM (VALUES ('{"a":1}'::jsonb), ('[2]')) AS v (j);
SELECT JSON_OBJECT('a': '{"b":1}'::jsonb), JSON_OBJECT('a': '{"b":1}'::json), JSON_ARRAY('{"b":1}'::jsonb, 1, 'x');
SELECT JSON_OBJECTAGG('k' : j), JSON_OBJECTAGG('k' : j RETURNING text) FROM (VALUES ('{"a":1}'::jsonb)) AS v (j);
SELECT JSON_ARRAYAGG(j) OVER () FROM (VALUES ('{"a":1}'::jsonb)) AS v (j);
SELECT row_to_json(u) FROM (SELECT 1, 2) AS u (p, q);
CREATE SEQUENCE fb_s;
CREATE FUNCTION fb_next() RETURNS bigint VOLATILE LANGUAGE sql AS $$ SELECT nextval('fb_s') $$;
UPDATE fb_m SET d = fb_next();
SELECT count(DISTINCT d), min(d), max(d) FROM fb_m;
BEGIN;
DECLARE c1 CURSOR FOR SELECT a FROM fb_m ORDER BY a;
SAVEPOINT s1;
FETCH 2 FROM c1;
DECLARE c2 CURSOR FOR SELECT a FROM fb_m ORDER BY a;
ROLLBACK TO s1;
FETCH 2 FROM c1;
SELECT name FROM pg_cursors WHERE name <> '';
-- error 34000
FETCH 2 FROM c2;
ROLLBACK;
BEGIN;
SAVEPOINT s1;
DECLARE c2 CURSOR FOR SELECT a FROM fb_m ORDER BY a;
RELEASE s1;
FETCH 2 FROM c2;
MOVE 2 FROM c2;
FETCH 1 FROM c2;
ROLLBACK;
SELECT '"fb_m"'::regclass, 'public . fb_m'::regclass, '"public" . "fb_m"'::regclass;
SELECT (SELECT 2) = ANY (ARRAY[1, 2]), (SELECT 2) = ALL (ARRAY[1, 2]), (SELECT NULL::integer) = ANY (ARRAY[1]);
SELECT oidvectortypes(proargtypes) FROM pg_proc WHERE proname = 'substring';
SELECT set_config(name, 'first', false) FROM pg_settings WHERE name = 'application_name';
SHOW application_name;
BEGIN;
-- error 55000
PREPARE TRANSACTION 'x';
-- error 42704
COMMIT PREPARED 'x';
-- error 42704
ROLLBACK PREPARED 'x';
CREATE FUNCTION fb_rows() RETURNS SETOF fb_m LANGUAGE sql AS 'SELECT * FROM fb_m WHERE a < 3';
CREATE FUNCTION fb_few() RETURNS SETOF fb_m LANGUAGE sql AS 'SELECT a, b, c, d FROM fb_m';
CREATE FUNCTION fb_row() RETURNS fb_m LANGUAGE sql AS 'SELECT * FROM fb_m ORDER BY a';
ALTER TABLE fb_m ADD COLUMN e integer DEFAULT 5;
SELECT a, b, c, e FROM fb_rows();
SELECT count(*) FROM (SELECT fb_rows()) AS s;
SELECT e FROM fb_row();
-- error 42P13
SELECT * FROM fb_few();
ALTER TABLE fb_m RENAME COLUMN e TO f;
CREATE OR REPLACE FUNCTION fb_rows() RETURNS SETOF fb_m LANGUAGE sql AS 'SELECT * FROM fb_m WHERE f = 5 AND a < 2';
ALTER TABLE fb_m DROP COLUMN c;
SELECT a, b, f FROM fb_rows();
CREATE FUNCTION fb_twice(integer) RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT $1 * 2';
CREATE TABLE fb_made (a integer, b integer GENERATED ALWAYS AS (fb_twice(a)) STORED);
CREATE TABLE fb_checked (a integer CHECK (fb_twice(a) > 2), d integer DEFAULT fb_twice(4));
-- messages
-- error 2BP01
DROP FUNCTION fb_twice(integer);
-- cases
DROP TABLE fb_made;
-- error 23514
INSERT INTO fb_checked VALUES (1);
DROP FUNCTION fb_twice(integer) CASCADE;
INSERT INTO fb_checked VALUES (1);
SELECT * FROM fb_checked;
