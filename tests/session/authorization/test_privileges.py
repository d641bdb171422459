"""GRANT, REVOKE and the privileges that statements need, played on PostgreSQL and gpudb and compared."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from gpudb.catalog.tables import Table
from gpudb.engine.protocol import Cancel
from gpudb.errors import GpudbError
from gpudb.session.authorization.authorize import authorize
from gpudb.session.context import Context
from gpudb.session.database import Database
from gpudb.session.session import Session
from gpudb.sql.accesses import Accesses
from gpudb.sql.bound import Column, OutputColumn, Scan, Select
from gpudb.sql.parse.parser import parse
from gpudb.types import INT4
from tests.session.authorization.conftest import Play
from tests.support.session_fixtures import Connect
from tests.support.sessions import run, state, value

ACLS = """SELECT c.relname, c.relkind, c.relacl::text FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace
  AND c.relkind IN ('r', 'v', 'S', 'm') ORDER BY 1"""
COLUMN_ACLS = """SELECT attrelid::regclass::text, attname::text, attacl::text FROM pg_attribute
  WHERE attacl IS NOT NULL AND NOT attisdropped AND attrelid >= 16384 ORDER BY 1, 2"""

SETUP = """
gpudb: CREATE ROLE anna LOGIN
gpudb: CREATE ROLE bert LOGIN
gpudb: CREATE ROLE carl LOGIN
gpudb: CREATE TABLE t (a integer, b integer, c integer)
gpudb: INSERT INTO t VALUES (1, 2, 3), (4, 5, 6)
gpudb: CREATE TABLE other (a integer, x text)
gpudb: INSERT INTO other VALUES (1, 'one'), (2, 'two')
"""


def test_nothing_is_allowed_without_a_grant(play: Play) -> None:
    play(f"""{SETUP}
gpudb: CREATE VIEW v AS SELECT a, b FROM t
gpudb: CREATE MATERIALIZED VIEW m AS SELECT a FROM t
gpudb: CREATE SEQUENCE s
anna: SELECT * FROM t
anna: SELECT count(*) FROM t
anna: SELECT 1 FROM t WHERE false
anna: SELECT a FROM v
anna: SELECT a FROM m
anna: SELECT last_value FROM s
anna: SELECT x FROM other JOIN t USING (a)
anna: SELECT 1 WHERE EXISTS (SELECT 1 FROM t)
anna: SELECT * FROM t TABLESAMPLE BERNOULLI (100)
anna: SELECT * FROM ONLY t
anna: TABLE t
anna: SELECT (SELECT a FROM t)
anna: SELECT ARRAY(SELECT a FROM t)
anna: SELECT 1 WHERE 1 IN (SELECT a FROM t)
anna: VALUES ((SELECT a FROM t))
anna: SELECT a FROM t UNION SELECT 1
anna: WITH RECURSIVE w AS (SELECT a FROM t UNION SELECT a FROM w) SELECT * FROM w
anna: CREATE TEMPORARY TABLE copied AS SELECT * FROM t
anna: CREATE TEMPORARY VIEW own AS SELECT * FROM t
anna: SELECT * FROM own
anna: CREATE TEMPORARY TABLE y (a integer)
anna: INSERT INTO y SELECT a FROM t
anna: UPDATE y SET a = t.a FROM t
anna: DELETE FROM y USING t WHERE t.a = y.a
anna: INSERT INTO y VALUES (1) RETURNING (SELECT b FROM t)
anna: WITH w AS (SELECT a FROM t) SELECT * FROM w
anna: INSERT INTO t VALUES (1, 2, 3)
anna: INSERT INTO t DEFAULT VALUES
anna: UPDATE t SET a = 1
anna: DELETE FROM t
anna: MERGE INTO t USING other o ON o.a = t.a WHEN MATCHED THEN DELETE
anna: TRUNCATE t
anna: COPY t TO STDOUT
anna: COPY (SELECT a FROM t) TO STDOUT
anna: LOCK TABLE t
anna: EXPLAIN SELECT a FROM t
anna: SELECT nextval('s')
anna: SELECT setval('s', 5)
anna: CREATE TABLE new (a integer)
anna: CREATE SCHEMA new
anna: CREATE TEMPORARY TABLE mine (a integer)
anna: INSERT INTO mine VALUES (1)
anna: SELECT * FROM mine
anna: PREPARE p AS SELECT a FROM t
anna: EXECUTE p
anna: BEGIN
anna: DECLARE k CURSOR FOR SELECT a FROM t
anna: ROLLBACK
anna: BEGIN
anna: LOCK TABLE t
anna: ROLLBACK
gpudb: GRANT SELECT ON t TO anna
anna: BEGIN
anna: LOCK TABLE t IN ACCESS SHARE MODE
anna: LOCK TABLE t IN ROW EXCLUSIVE MODE
anna: ROLLBACK
anna: SELECT 1
""")


def test_select(play: Play) -> None:
    play(f"""{SETUP}
gpudb: GRANT SELECT ON t TO anna
anna: SELECT * FROM t ORDER BY a
anna: SELECT x FROM other JOIN t USING (a)
anna: UPDATE t SET a = 1
gpudb: GRANT SELECT (x) ON other TO anna
anna: SELECT x FROM other ORDER BY x
anna: SELECT count(*) FROM other
anna: SELECT 1 FROM other LIMIT 1
anna: SELECT * FROM other
anna: SELECT o FROM other o
anna: SELECT x FROM other JOIN t USING (a)
anna: SELECT x FROM other WHERE a = 1
anna: SELECT x FROM other ORDER BY a
anna: SELECT max(x) FROM other GROUP BY a
anna: SELECT x FROM other NATURAL JOIN t
anna: SELECT x FROM other o WHERE EXISTS (SELECT 1 FROM t WHERE t.a = o.a)
gpudb: GRANT SELECT (a) ON other TO anna
anna: SELECT * FROM other ORDER BY a
anna: SELECT x FROM other JOIN t USING (a)
anna: SELECT o FROM other o ORDER BY a LIMIT 1
anna: SELECT x FROM other TABLESAMPLE BERNOULLI (100) ORDER BY x
gpudb: REVOKE SELECT (a) ON other FROM anna
anna: SELECT x FROM other TABLESAMPLE BERNOULLI (100) ORDER BY x
anna: SELECT a FROM other TABLESAMPLE BERNOULLI (100)
gpudb: REVOKE SELECT ON t FROM anna
anna: SELECT a FROM t
gpudb: GRANT SELECT ON t TO PUBLIC
bert: SELECT a FROM t ORDER BY a
gpudb: REVOKE ALL ON t FROM PUBLIC
bert: SELECT a FROM t
""")


def test_changes(play: Play) -> None:
    play(f"""{SETUP}
gpudb: GRANT INSERT ON t TO anna
anna: INSERT INTO t VALUES (7, 8, 9)
anna: INSERT INTO t (a) VALUES (7) RETURNING a
anna: INSERT INTO t SELECT a FROM other
gpudb: GRANT UPDATE (b) ON t TO anna
anna: UPDATE t SET b = 1
anna: UPDATE t SET a = 1
anna: UPDATE t SET b = b + 1
anna: UPDATE t SET b = 1 WHERE a = 1
gpudb: GRANT SELECT (a, b) ON t TO anna
anna: UPDATE t SET b = b + 1 WHERE a = 1
anna: UPDATE t SET b = b + 1 WHERE a = 1 RETURNING a, b
anna: UPDATE t SET b = b + 1 WHERE a = 1 RETURNING *
anna: UPDATE t SET b = o.a FROM other o WHERE o.a = t.a
anna: DELETE FROM t
gpudb: GRANT DELETE ON t TO anna
anna: DELETE FROM t WHERE c = 3
anna: DELETE FROM t WHERE b = 100
anna: DELETE FROM t WHERE a = 7 RETURNING a
gpudb: REVOKE INSERT ON t FROM anna
gpudb: GRANT INSERT (a, b) ON t TO anna
anna: INSERT INTO t VALUES (1, 2)
anna: INSERT INTO t VALUES (1, 2, 3)
anna: INSERT INTO t (a, c) VALUES (1, 2)
anna: INSERT INTO t (b) SELECT 5
anna: INSERT INTO t DEFAULT VALUES
anna: WITH w AS (INSERT INTO t (a) VALUES (9) RETURNING a) SELECT * FROM w
anna: WITH w AS (DELETE FROM other RETURNING a) SELECT * FROM w
anna: WITH w AS (INSERT INTO t (c) VALUES (9) RETURNING a) SELECT * FROM w
gpudb: GRANT TRUNCATE ON t TO anna
anna: TRUNCATE t
anna: TRUNCATE t, other
""")


def test_on_conflict_and_merge(play: Play) -> None:
    play(f"""{SETUP}
gpudb: CREATE TABLE k (one integer, two integer UNIQUE, three integer)
gpudb: GRANT INSERT (two), UPDATE (three), SELECT (one, two) ON k TO anna
gpudb: INSERT INTO k VALUES (1, 6, 1)
anna: INSERT INTO k (two) VALUES (6) ON CONFLICT (two) DO UPDATE SET three = 10
anna: INSERT INTO k (two) VALUES (6) ON CONFLICT (two) DO UPDATE SET three = 10 RETURNING k.three
anna: INSERT INTO k (two) VALUES (6) ON CONFLICT (two) DO UPDATE SET three = 10 RETURNING k.one
anna: INSERT INTO k (two) VALUES (6) ON CONFLICT (two) DO UPDATE SET three = EXCLUDED.one
anna: INSERT INTO k (two) VALUES (6) ON CONFLICT (two) DO UPDATE SET three = EXCLUDED.three
anna: INSERT INTO k (two) VALUES (6) ON CONFLICT (two) DO UPDATE SET one = 8
anna: INSERT INTO k (three) VALUES (4) ON CONFLICT (two) DO UPDATE SET three = 10
anna: INSERT INTO k (two) VALUES (6) ON CONFLICT (two) DO NOTHING
anna: INSERT INTO k (two) VALUES (6) ON CONFLICT ON CONSTRAINT k_two_key DO NOTHING
anna: INSERT INTO k (two) VALUES (6) ON CONFLICT DO NOTHING
gpudb: REVOKE SELECT (two) ON k FROM anna
anna: INSERT INTO k (two) VALUES (6) ON CONFLICT (two) DO NOTHING
anna: INSERT INTO k (two) VALUES (6) ON CONFLICT ON CONSTRAINT k_two_key DO NOTHING
anna: INSERT INTO k (two) VALUES (6) ON CONFLICT DO NOTHING
gpudb: GRANT SELECT ON other TO anna
gpudb: GRANT SELECT (a), UPDATE (b), INSERT (a, b) ON t TO anna
anna: MERGE INTO t USING other o ON o.a = t.a WHEN MATCHED THEN UPDATE SET b = 1
anna: MERGE INTO t USING other o ON o.a = t.a WHEN MATCHED THEN UPDATE SET c = 1
anna: MERGE INTO t USING other o ON o.a = t.b WHEN MATCHED THEN UPDATE SET b = 1
anna: MERGE INTO t USING other o ON o.a = t.a WHEN MATCHED THEN DELETE
anna: MERGE INTO t USING other o ON o.a = t.a WHEN NOT MATCHED THEN INSERT (a, b) VALUES (o.a, 5)
anna: MERGE INTO t USING other o ON o.a = t.a WHEN NOT MATCHED THEN INSERT VALUES (o.a, 5, 6)
anna: MERGE INTO t USING other o ON o.a = t.a WHEN MATCHED AND t.c = 1 THEN UPDATE SET b = 1
anna: MERGE INTO t USING other o ON o.a = t.a WHEN MATCHED THEN DO NOTHING
gpudb: REVOKE SELECT ON other FROM anna
anna: MERGE INTO t USING other o ON o.a = t.a WHEN MATCHED THEN UPDATE SET b = 1
""")


def test_views(play: Play) -> None:
    play(f"""{SETUP}
gpudb: GRANT CREATE ON SCHEMA public TO bert
gpudb: GRANT SELECT (a, b), UPDATE (b) ON t TO bert
bert: CREATE VIEW v AS SELECT a, b FROM t WHERE a > 0
bert: CREATE VIEW w AS SELECT a, c FROM t
bert: SELECT * FROM v ORDER BY a
bert: SELECT a FROM w
anna: SELECT * FROM v
bert: GRANT SELECT ON v, w TO anna
anna: SELECT * FROM v ORDER BY a
anna: SELECT a FROM w
anna: UPDATE v SET b = 7 WHERE a = 1
bert: GRANT UPDATE ON v TO anna
anna: UPDATE v SET b = 7 WHERE a = 1
anna: UPDATE v SET a = 7 WHERE a = 1
anna: DELETE FROM v
bert: GRANT DELETE, INSERT ON v TO anna
anna: DELETE FROM v
anna: INSERT INTO v VALUES (1, 2)
gpudb: GRANT INSERT (a, b) ON t TO bert
anna: INSERT INTO v VALUES (1, 2)
anna: INSERT INTO v VALUES (1, 2) RETURNING a
bert: REVOKE ALL ON v FROM anna
bert: GRANT SELECT (b), UPDATE (b) ON v TO anna
anna: SELECT b FROM v ORDER BY b
anna: SELECT a FROM v
anna: UPDATE v SET b = 7
anna: UPDATE v SET b = 7 WHERE a = 1
bert: CREATE VIEW i WITH (security_invoker = true) AS SELECT a, b FROM t
bert: CREATE VIEW over AS SELECT * FROM i
bert: GRANT SELECT ON i, over TO anna
anna: SELECT a FROM i
anna: SELECT count(*) > 0 FROM over
gpudb: GRANT SELECT ON t TO anna
anna: SELECT count(*) > 0 FROM i
bert: ALTER VIEW i SET (security_invoker = false)
gpudb: REVOKE ALL ON t FROM anna
anna: SELECT count(*) > 0 FROM i
bert: CREATE VIEW no WITH (security_invoker = maybe) AS SELECT 1 AS one
bert: CREATE VIEW no WITH (nothing = true) AS SELECT 1 AS one
bert: SELECT relname::text, reloptions FROM pg_class WHERE relname IN ('i', 'v') ORDER BY 1
gpudb: REVOKE SELECT ON t FROM bert
anna: SELECT b FROM v
bert: SELECT b FROM v
gpudb: CREATE OR REPLACE VIEW v AS SELECT a, b FROM t
gpudb: {COLUMN_ACLS}
""")


def test_views_owned_by_the_reader(play: Play) -> None:
    play(f"""{SETUP}
gpudb: CREATE VIEW v AS SELECT a, b FROM t
gpudb: CREATE VIEW over AS SELECT a FROM v
gpudb: GRANT SELECT ON over TO anna
anna: SELECT a FROM over ORDER BY a
gpudb: ALTER VIEW over OWNER TO bert
anna: SELECT a FROM over ORDER BY a
gpudb: GRANT SELECT (a) ON v TO bert
anna: SELECT a FROM over ORDER BY a
gpudb: CREATE FUNCTION twice(x integer) RETURNS integer LANGUAGE sql RETURN x * 2
gpudb: CREATE VIEW calls AS SELECT twice(a) AS a FROM t
gpudb: GRANT SELECT ON calls TO anna
anna: SELECT a FROM calls ORDER BY a
gpudb: REVOKE EXECUTE ON FUNCTION twice FROM PUBLIC
anna: SELECT a FROM calls
""")


def test_grant_options(play: Play) -> None:
    play(f"""{SETUP}
gpudb: GRANT SELECT, INSERT ON t TO anna WITH GRANT OPTION
anna: GRANT SELECT ON t TO bert WITH GRANT OPTION
anna: GRANT UPDATE ON t TO bert
anna: GRANT SELECT, UPDATE ON t TO bert
anna: GRANT ALL ON t TO carl
bert: GRANT SELECT ON t TO carl
bert: GRANT INSERT ON t TO carl
carl: GRANT SELECT ON t TO bert
carl: GRANT DELETE ON t TO bert
gpudb: {ACLS}
bert: GRANT SELECT ON t TO anna WITH GRANT OPTION
gpudb: REVOKE SELECT ON t FROM anna
gpudb: REVOKE GRANT OPTION FOR SELECT ON t FROM anna
gpudb: {ACLS}
gpudb: REVOKE GRANT OPTION FOR SELECT ON t FROM anna CASCADE
gpudb: {ACLS}
anna: REVOKE INSERT ON t FROM carl
carl: REVOKE SELECT ON t FROM anna
anna: REVOKE UPDATE ON t FROM carl
anna: REVOKE UPDATE, INSERT ON t FROM carl
gpudb: REVOKE ALL ON t FROM anna, bert, carl CASCADE
gpudb: {ACLS}
anna: REVOKE ALL ON t FROM bert
gpudb: GRANT SELECT ON t TO PUBLIC WITH GRANT OPTION
gpudb: REVOKE ALL ON t FROM gpudb
gpudb: {ACLS}
gpudb: GRANT SELECT ON t TO gpudb
gpudb: GRANT SELECT ON t TO anna GRANTED BY gpudb
gpudb: GRANT SELECT ON t TO anna GRANTED BY bert
gpudb: GRANT SELECT ON t TO anna GRANTED BY CURRENT_USER
gpudb: {ACLS}
""")


def test_column_privileges(play: Play) -> None:
    play(f"""{SETUP}
gpudb: GRANT SELECT (a, b), INSERT (b), UPDATE (c) ON t TO anna WITH GRANT OPTION
gpudb: {COLUMN_ACLS}
anna: GRANT SELECT (a) ON t TO bert
anna: GRANT SELECT (a, c) ON t TO bert
anna: GRANT UPDATE (a) ON t TO bert
anna: GRANT ALL (a) ON t TO bert
carl: GRANT SELECT (a) ON t TO bert
gpudb: {COLUMN_ACLS}
gpudb: GRANT ALL (c) ON t TO carl
gpudb: {COLUMN_ACLS}
gpudb: GRANT SELECT (nothing) ON t TO carl
gpudb: GRANT DELETE (a) ON t TO carl
gpudb: REVOKE SELECT (a) ON t FROM anna
gpudb: REVOKE SELECT (a) ON t FROM anna CASCADE
gpudb: {COLUMN_ACLS}
gpudb: GRANT SELECT ON t TO carl
gpudb: REVOKE SELECT (c) ON t FROM carl
carl: SELECT c FROM t ORDER BY c
gpudb: REVOKE SELECT ON t FROM anna, carl
gpudb: {COLUMN_ACLS}
gpudb: REVOKE ALL ON t FROM anna, bert, carl
gpudb: {COLUMN_ACLS}
gpudb: GRANT SELECT (a), SELECT ON t TO anna
gpudb: GRANT REFERENCES (b) ON t TO PUBLIC
gpudb: {ACLS}
gpudb: {COLUMN_ACLS}
gpudb: ALTER TABLE t RENAME COLUMN a TO a2
gpudb: ALTER TABLE t DROP COLUMN b
gpudb: {COLUMN_ACLS}
""")


def test_errors_of_grant(play: Play) -> None:
    play(f"""{SETUP}
gpudb: CREATE SEQUENCE s
gpudb: CREATE UNIQUE INDEX i ON t (a)
gpudb: CREATE VIEW v AS SELECT a FROM t
gpudb: GRANT SELECT ON missing TO anna
gpudb: GRANT SELECT ON t TO nobody
gpudb: GRANT NONSENSE ON t TO anna
gpudb: GRANT USAGE ON t TO anna
gpudb: GRANT EXECUTE ON t TO anna
gpudb: GRANT SELECT ON i TO anna
gpudb: GRANT SELECT ON SEQUENCE t TO anna
gpudb: GRANT INSERT ON SEQUENCE s TO anna
gpudb: GRANT INSERT, SELECT ON s TO anna
gpudb: GRANT ALL ON s TO anna
gpudb: GRANT USAGE ON s TO anna
gpudb: GRANT SELECT ON SCHEMA public TO anna
gpudb: GRANT USAGE ON SCHEMA missing TO anna
gpudb: GRANT SELECT ON DATABASE gpudb TO anna
gpudb: GRANT CONNECT ON DATABASE missing TO anna
gpudb: GRANT EXECUTE ON FUNCTION missing(integer) TO anna
gpudb: GRANT EXECUTE ON FUNCTION missing TO anna
gpudb: GRANT SELECT ON FUNCTION missing TO anna
gpudb: GRANT USAGE ON TYPE missing TO anna
gpudb: GRANT USAGE ON DOMAIN missing TO anna
gpudb: GRANT SELECT (a) ON SCHEMA public TO anna
gpudb: GRANT SELECT ON ALL TABLES IN SCHEMA missing TO anna
gpudb: GRANT SELECT ON t, missing TO anna
gpudb: {ACLS}
anna: GRANT SELECT ON t TO bert
anna: GRANT USAGE ON SCHEMA public TO bert
anna: GRANT CREATE ON SCHEMA public TO bert
anna: GRANT CREATE ON DATABASE gpudb TO bert
anna: REVOKE ALL ON t FROM bert
""")


def test_all_in_schema(play: Play) -> None:
    play("""
gpudb: CREATE ROLE anna LOGIN
gpudb: CREATE SCHEMA s
gpudb: CREATE TABLE s.one (a integer)
gpudb: CREATE TABLE s.two (a integer)
gpudb: CREATE VIEW s.v AS SELECT a FROM s.one
gpudb: CREATE SEQUENCE s.q
gpudb: CREATE FUNCTION s.f() RETURNS integer LANGUAGE sql RETURN 1
gpudb: CREATE PROCEDURE s.p() LANGUAGE sql BEGIN ATOMIC SELECT 1; END
gpudb: GRANT SELECT ON ALL TABLES IN SCHEMA s TO anna
anna: SELECT * FROM s.one
gpudb: GRANT USAGE ON SCHEMA s TO anna
anna: SELECT * FROM s.one
anna: SELECT * FROM s.v
anna: SELECT nextval('s.q')
gpudb: GRANT USAGE ON ALL SEQUENCES IN SCHEMA s TO anna
anna: SELECT nextval('s.q')
gpudb: REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA s FROM PUBLIC
anna: SELECT s.f()
anna: CALL s.p()
gpudb: REVOKE EXECUTE ON ALL ROUTINES IN SCHEMA s FROM PUBLIC
anna: CALL s.p()
gpudb: GRANT EXECUTE ON ALL PROCEDURES IN SCHEMA s TO anna
anna: CALL s.p()
anna: SELECT s.f()
gpudb: SELECT relname::text, relacl::text FROM pg_class WHERE relnamespace = 's'::regnamespace ORDER BY 1
gpudb: SELECT proname::text, proacl::text FROM pg_proc WHERE pronamespace = 's'::regnamespace ORDER BY 1
gpudb: SELECT nspname::text, nspacl::text FROM pg_namespace WHERE nspname IN ('s', 'public') ORDER BY 1
gpudb: REVOKE ALL ON ALL TABLES IN SCHEMA s FROM anna
gpudb: SELECT relname::text, relacl::text FROM pg_class WHERE relnamespace = 's'::regnamespace ORDER BY 1
""")


def test_schemas(play: Play) -> None:
    play(f"""{SETUP}
gpudb: CREATE SCHEMA s
gpudb: CREATE TABLE s.t (a integer)
gpudb: GRANT ALL ON s.t TO anna
anna: SELECT * FROM s.t
anna: SELECT * FROM s.missing
anna: SELECT * FROM missing.t
anna: INSERT INTO s.t VALUES (1)
anna: DROP TABLE s.t
anna: ALTER TABLE s.t ADD COLUMN b integer
anna: COPY s.t TO STDOUT
anna: TRUNCATE s.t
anna: COMMENT ON TABLE s.t IS 'x'
anna: SET search_path = s, public
anna: SELECT * FROM t
anna: SELECT current_schemas(false)
gpudb: GRANT USAGE ON SCHEMA s TO anna
anna: SELECT * FROM t
anna: SELECT current_schemas(false)
anna: CREATE TABLE mine (a integer)
gpudb: GRANT CREATE ON SCHEMA s TO anna
anna: CREATE TABLE mine (a integer)
anna: CREATE VIEW s.v AS SELECT 1 AS one
anna: CREATE SEQUENCE s.q
anna: CREATE FUNCTION s.f() RETURNS integer LANGUAGE sql RETURN 1
anna: CREATE TYPE s.e AS ENUM ('x')
anna: CREATE DOMAIN s.d AS integer
anna: CREATE TABLE s.u AS SELECT 1 AS one
anna: CREATE UNIQUE INDEX ON s.mine (a)
gpudb: REVOKE CREATE ON SCHEMA s FROM anna
anna: CREATE VIEW s.v2 AS SELECT 1 AS one
anna: CREATE SEQUENCE s.q2
anna: CREATE FUNCTION s.f2() RETURNS integer LANGUAGE sql RETURN 1
anna: CREATE TYPE s.e2 AS ENUM ('x')
anna: CREATE DOMAIN s.d2 AS integer
anna: CREATE TABLE s.u2 AS SELECT 1 AS one
anna: CREATE UNIQUE INDEX ON s.mine (a)
anna: ALTER TABLE s.mine RENAME TO mine2
anna: ALTER TABLE s.mine SET SCHEMA public
anna: ALTER TABLE s.mine ADD COLUMN b integer
anna: DROP SCHEMA s
anna: DROP SCHEMA s CASCADE
anna: ALTER SCHEMA s RENAME TO z
gpudb: REVOKE USAGE ON SCHEMA s FROM anna
anna: SELECT * FROM s.mine
anna: DROP TABLE s.mine
gpudb: REVOKE USAGE ON SCHEMA public FROM PUBLIC
anna: SELECT * FROM public.t
anna: RESET search_path
anna: SELECT * FROM t
""")


def test_ownership(play: Play) -> None:
    play(f"""{SETUP}
gpudb: GRANT CREATE ON SCHEMA public TO bert
bert: CREATE TABLE mine (a integer)
bert: CREATE VIEW v AS SELECT a FROM mine
bert: CREATE MATERIALIZED VIEW m AS SELECT a FROM mine
bert: CREATE SEQUENCE q
bert: CREATE FUNCTION f(x integer) RETURNS integer LANGUAGE sql RETURN x
bert: CREATE PROCEDURE p() LANGUAGE sql BEGIN ATOMIC SELECT 1; END
bert: CREATE TYPE e AS ENUM ('x')
bert: CREATE TYPE c AS (a integer)
bert: CREATE DOMAIN d AS integer
bert: CREATE UNIQUE INDEX i ON mine (a)
gpudb: GRANT ALL ON mine, v, m, q TO anna
anna: DROP TABLE mine
anna: DROP VIEW v
anna: DROP MATERIALIZED VIEW m
anna: DROP SEQUENCE q
anna: DROP FUNCTION f
anna: DROP PROCEDURE p
anna: DROP ROUTINE f
anna: DROP TYPE e
anna: DROP TYPE c
anna: DROP DOMAIN d
anna: DROP INDEX i
anna: ALTER TABLE mine ADD COLUMN b integer
anna: ALTER TABLE mine RENAME TO yours
anna: ALTER TABLE mine RENAME COLUMN a TO b
anna: ALTER TABLE mine OWNER TO anna
anna: ALTER VIEW v RENAME TO w
anna: ALTER VIEW v ALTER COLUMN a SET DEFAULT 5
anna: ALTER SEQUENCE q RESTART
anna: ALTER FUNCTION f RENAME TO g
anna: ALTER FUNCTION f OWNER TO anna
anna: ALTER TYPE e ADD VALUE 'y'
anna: ALTER TYPE e RENAME TO ee
anna: ALTER TYPE e OWNER TO anna
anna: ALTER DOMAIN d SET DEFAULT 1
anna: CREATE INDEX ON mine (a)
anna: CREATE OR REPLACE VIEW v AS SELECT 1 AS a
anna: CREATE OR REPLACE FUNCTION f(x integer) RETURNS integer LANGUAGE sql RETURN x + 1
anna: REFRESH MATERIALIZED VIEW m
anna: COMMENT ON TABLE mine IS 'x'
anna: COMMENT ON COLUMN mine.a IS 'x'
anna: COMMENT ON VIEW v IS 'x'
anna: COMMENT ON FUNCTION f IS 'x'
anna: COMMENT ON TYPE e IS 'x'
anna: COMMENT ON DOMAIN d IS 'x'
anna: COMMENT ON SCHEMA public IS 'x'
anna: COMMENT ON INDEX i IS 'x'
anna: ANALYZE mine
anna: VACUUM mine
anna: GRANT SELECT ON mine TO carl
bert: ALTER TABLE mine OWNER TO anna
bert: ALTER TABLE mine OWNER TO bert
gpudb: GRANT anna TO bert
bert: ALTER TABLE mine OWNER TO anna
gpudb: GRANT CREATE ON SCHEMA public TO anna
bert: ALTER TABLE mine OWNER TO anna
gpudb: {ACLS}
bert: SELECT * FROM mine
anna: ALTER TABLE mine ADD COLUMN b integer
gpudb: ALTER SCHEMA public OWNER TO carl
carl: DROP VIEW v
carl: DROP FUNCTION f
carl: ALTER TYPE e ADD VALUE 'y'
carl: DROP TYPE e
gpudb: ALTER SCHEMA public OWNER TO pg_database_owner
""")


def test_functions_and_types(play: Play) -> None:
    play(f"""{SETUP}
gpudb: GRANT CREATE ON SCHEMA public TO anna
gpudb: CREATE FUNCTION f() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM t'
gpudb: CREATE FUNCTION d() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS 'SELECT count(*) FROM t'
gpudb: CREATE FUNCTION who() RETURNS text LANGUAGE sql SECURITY DEFINER AS 'SELECT current_user::text'
gpudb: CREATE FUNCTION rows() RETURNS SETOF t LANGUAGE sql SECURITY DEFINER AS 'SELECT * FROM t'
gpudb: CREATE PROCEDURE add() LANGUAGE sql SECURITY DEFINER AS 'INSERT INTO t VALUES (0, 0, 0)'
gpudb: CREATE PROCEDURE try() LANGUAGE sql AS 'INSERT INTO t VALUES (0, 0, 0)'
anna: SELECT f()
anna: SELECT d()
anna: SELECT who(), current_user::text
anna: SELECT a FROM rows() ORDER BY a
anna: CALL add()
anna: CALL try()
anna: SELECT current_user::text
gpudb: REVOKE EXECUTE ON FUNCTION d(), who() FROM PUBLIC
gpudb: REVOKE ALL ON PROCEDURE add() FROM PUBLIC
gpudb: GRANT EXECUTE ON FUNCTION who() TO bert
anna: SELECT d()
anna: SELECT who()
bert: SELECT who()
anna: SELECT * FROM d()
anna: CALL add()
gpudb: SELECT proname::text, prosecdef, proacl::text FROM pg_proc WHERE pronamespace = 'public'::regnamespace ORDER BY 1
gpudb: CREATE OR REPLACE FUNCTION d() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM t'
gpudb: SELECT proname::text, prosecdef, proacl::text FROM pg_proc WHERE proname = 'd'
gpudb: CREATE DOMAIN dom AS integer
gpudb: CREATE TYPE mood AS ENUM ('ok')
gpudb: REVOKE USAGE ON TYPE mood FROM PUBLIC
gpudb: REVOKE USAGE ON DOMAIN dom FROM PUBLIC
anna: CREATE TABLE u (m mood)
anna: CREATE TABLE u (m dom)
anna: CREATE DOMAIN dd AS dom
anna: CREATE FUNCTION g(x mood) RETURNS integer LANGUAGE sql RETURN 1
anna: CREATE FUNCTION g() RETURNS dom LANGUAGE sql RETURN 1
anna: CREATE TYPE comp AS (m mood)
anna: SELECT 'ok'::mood
gpudb: GRANT USAGE ON TYPE mood TO anna
anna: CREATE TABLE u (m mood)
anna: ALTER TABLE u ADD COLUMN n dom
gpudb: SELECT typname::text, typacl::text FROM pg_type WHERE typname IN ('mood', 'dom', '_mood') ORDER BY 1
gpudb: GRANT USAGE ON DOMAIN mood TO anna
""")


def test_sequences(play: Play) -> None:
    play(f"""{SETUP}
gpudb: CREATE SEQUENCE s
gpudb: CREATE TABLE serial (i serial, x integer)
gpudb: CREATE TABLE identity (i integer GENERATED BY DEFAULT AS IDENTITY, x integer)
gpudb: GRANT INSERT, SELECT ON serial, identity TO anna
anna: INSERT INTO serial (x) VALUES (1)
anna: INSERT INTO identity (x) VALUES (1)
anna: SELECT nextval('s')
gpudb: GRANT USAGE ON SEQUENCE s, serial_i_seq TO anna
anna: INSERT INTO serial (x) VALUES (1)
anna: SELECT nextval('s')
anna: SELECT currval('s')
anna: SELECT lastval()
anna: SELECT setval('s', 10)
anna: SELECT last_value FROM s
anna: SELECT sequencename::text, last_value FROM pg_sequences WHERE sequencename = 's'
bert: SELECT sequencename::text, last_value FROM pg_sequences WHERE sequencename = 's'
gpudb: REVOKE ALL ON SEQUENCE s FROM anna
gpudb: GRANT SELECT ON s TO anna
anna: SELECT currval('s')
anna: SELECT last_value FROM s
anna: SELECT nextval('s')
gpudb: REVOKE SELECT ON s FROM anna
anna: SELECT currval('s')
anna: SELECT lastval()
gpudb: GRANT UPDATE ON s TO anna
anna: SELECT nextval('s')
anna: SELECT setval('s', 10)
anna: SELECT currval('s')
gpudb: {ACLS}
""")


def test_references(play: Play) -> None:
    play(f"""{SETUP}
gpudb: GRANT CREATE ON SCHEMA public TO anna
gpudb: CREATE TABLE parent (id integer PRIMARY KEY, other integer UNIQUE)
gpudb: INSERT INTO parent VALUES (1, 1), (2, 2)
anna: CREATE TABLE child (id integer REFERENCES parent)
gpudb: GRANT REFERENCES (id) ON parent TO anna
anna: CREATE TABLE child (id integer REFERENCES parent)
anna: ALTER TABLE child ADD FOREIGN KEY (id) REFERENCES parent (other)
anna: INSERT INTO child VALUES (1)
anna: INSERT INTO child VALUES (3)
gpudb: GRANT DELETE, SELECT ON parent TO bert
bert: DELETE FROM parent WHERE id = 2
bert: DELETE FROM parent WHERE id = 1
anna: CREATE TABLE alike (LIKE t)
gpudb: GRANT SELECT ON t TO anna
anna: CREATE TABLE alike (LIKE t)
gpudb: GRANT TRUNCATE ON parent TO bert
bert: TRUNCATE parent
bert: TRUNCATE parent CASCADE
""")


def test_copy(play: Play) -> None:
    play(f"""{SETUP}
anna: COPY t FROM STDIN
anna: COPY t (a) TO STDOUT
anna: COPY t TO STDOUT
anna: COPY (DELETE FROM t RETURNING a) TO STDOUT
anna: COPY t FROM '/nowhere'
anna: COPY t TO '/nowhere'
""")


def test_database_and_temporary_tables(play: Play) -> None:
    play(f"""{SETUP}
anna: CREATE SCHEMA s
gpudb: GRANT CREATE ON DATABASE gpudb TO anna
anna: CREATE SCHEMA s
anna: CREATE SCHEMA s2 AUTHORIZATION bert
anna: CREATE TABLE s.t (a integer)
gpudb: SELECT datacl::text FROM pg_database WHERE datname = 'gpudb'
gpudb: REVOKE TEMPORARY ON DATABASE gpudb FROM PUBLIC
anna: CREATE TEMPORARY TABLE x (a integer)
anna: CREATE TABLE pg_temp.x (a integer)
anna: SELECT has_database_privilege('gpudb', 'TEMP'), has_database_privilege('gpudb', 'CREATE')
gpudb: GRANT TEMP ON DATABASE gpudb TO PUBLIC
gpudb: REVOKE CREATE ON DATABASE gpudb FROM anna
anna: CREATE TEMPORARY TABLE x (a integer)
anna: CREATE SCHEMA s3
anna: ALTER SCHEMA s RENAME TO s4
anna: DROP SCHEMA s CASCADE
""")


def test_system_catalogs(play: Play) -> None:
    play(f"""{SETUP}
anna: SELECT count(*) > 0 FROM pg_class
anna: SELECT count(*) FROM pg_authid
anna: SELECT count(*) FROM pg_shadow
anna: SELECT count(*) FROM pg_statistic
anna: SELECT rolname::text FROM pg_roles WHERE rolname = 'anna'
anna: SELECT table_name::text FROM information_schema.tables WHERE table_schema = 'public'
gpudb: GRANT SELECT ON t TO anna
anna: SELECT table_name::text FROM information_schema.tables WHERE table_schema = 'public'
anna: SELECT table_name::text, privilege_type::text, is_grantable::text FROM information_schema.role_table_grants
  WHERE table_schema = 'public'
""")


def test_inquiries(play: Play) -> None:
    play(f"""{SETUP}
gpudb: CREATE SCHEMA s
gpudb: CREATE SEQUENCE q
gpudb: CREATE FUNCTION f(integer) RETURNS integer LANGUAGE sql RETURN 1
gpudb: REVOKE EXECUTE ON FUNCTION f FROM PUBLIC
gpudb: GRANT SELECT ON t TO anna WITH GRANT OPTION
gpudb: GRANT INSERT (b) ON t TO anna
gpudb: GRANT USAGE ON SEQUENCE q TO anna
gpudb: GRANT anna TO carl
gpudb: SELECT has_table_privilege('anna', 't', 'SELECT'), has_table_privilege('anna', 't', 'INSERT')
gpudb: SELECT has_table_privilege('anna', 't', 'select with grant option'), has_table_privilege('anna', 't', 'INSERT, SELECT')
gpudb: SELECT has_table_privilege('carl', 't', 'SELECT'), has_table_privilege('bert', 't'::regclass, 'SELECT')
gpudb: SELECT has_table_privilege('public', 't', 'SELECT'), has_table_privilege('t', 'TRUNCATE')
anna: SELECT has_table_privilege('t', 'SELECT'), has_table_privilege('t', 'UPDATE'), has_table_privilege('other', 'SELECT')
anna: SELECT has_table_privilege('t'::regclass, 'SELECT'), has_table_privilege('pg_class'::regclass, 'SELECT')
gpudb: SELECT has_table_privilege(4000000000::oid, 'SELECT')
gpudb: SELECT has_table_privilege('nobody', 't', 'SELECT')
gpudb: SELECT has_table_privilege('anna', 'missing', 'SELECT')
gpudb: SELECT has_table_privilege('anna', 't', 'USAGE')
gpudb: SELECT has_table_privilege('anna', 't', 'foo, SELECT')
gpudb: SELECT has_table_privilege(NULL, 'SELECT')
gpudb: SELECT has_column_privilege('anna', 't', 'b', 'INSERT'), has_column_privilege('anna', 't', 'a', 'INSERT')
gpudb: SELECT has_column_privilege('anna', 't', 'a', 'SELECT'), has_column_privilege('anna', 't', 2::int2, 'INSERT')
anna: SELECT has_column_privilege('t', 'b', 'INSERT'), has_column_privilege('t', 'c', 'INSERT')
gpudb: SELECT has_column_privilege('anna', 't', 'missing', 'SELECT')
gpudb: SELECT has_any_column_privilege('anna', 't', 'INSERT'), has_any_column_privilege('bert', 't', 'INSERT')
anna: SELECT has_any_column_privilege('t', 'INSERT'), has_any_column_privilege('other', 'SELECT')
gpudb: SELECT has_schema_privilege('anna', 'public', 'USAGE'), has_schema_privilege('anna', 'public', 'CREATE')
anna: SELECT has_schema_privilege('s', 'USAGE'), has_schema_privilege('pg_catalog', 'USAGE')
gpudb: SELECT has_schema_privilege('anna', 'missing', 'USAGE')
gpudb: SELECT has_sequence_privilege('anna', 'q', 'USAGE'), has_sequence_privilege('anna', 'q', 'SELECT')
gpudb: SELECT has_function_privilege('anna', 'f(integer)', 'EXECUTE'), has_function_privilege('anna', 'lower(text)', 'EXECUTE')
anna: SELECT has_type_privilege('integer', 'USAGE'), has_type_privilege('anna', 'text', 'USAGE')
gpudb: SELECT has_database_privilege('anna', 'gpudb', 'CONNECT'), has_database_privilege('anna', 'gpudb', 'CREATE')
gpudb: SELECT has_database_privilege('anna', 'missing', 'CONNECT')
gpudb: SELECT grantee::text, privilege_type::text, is_grantable::text FROM information_schema.table_privileges
  WHERE table_schema = 'public' AND table_name = 't' ORDER BY 1, 2
gpudb: SELECT grantee::text, column_name::text, privilege_type::text FROM information_schema.column_privileges
  WHERE table_schema = 'public' AND table_name = 't' AND grantee = 'anna' ORDER BY 1, 2, 3
anna: SELECT grantee::text, privilege_type::text FROM information_schema.role_table_grants WHERE table_name = 't' ORDER BY 1, 2
gpudb: SELECT grantor::regrole::text, grantee::regrole::text, privilege_type, is_grantable
  FROM pg_class, aclexplode(relacl) WHERE relname = 't' AND grantee <> grantor ORDER BY 3
gpudb: SELECT acldefault('r', 10)::text, acldefault('f', 10)::text, acldefault('n', 10)::text, acldefault('d', 10)::text
""")


def test_default_privileges(play: Play) -> None:
    listed = """SELECT defaclrole::regrole::text, defaclnamespace::regnamespace::text, defaclobjtype, defaclacl::text
  FROM pg_default_acl ORDER BY 1, 2, 3"""
    play(f"""{SETUP}
gpudb: GRANT CREATE ON SCHEMA public TO anna
anna: ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO bert
anna: ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT INSERT ON TABLES TO bert WITH GRANT OPTION
anna: ALTER DEFAULT PRIVILEGES GRANT USAGE ON SEQUENCES TO bert
anna: ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC
anna: ALTER DEFAULT PRIVILEGES REVOKE USAGE ON TYPES FROM PUBLIC
anna: ALTER DEFAULT PRIVILEGES FOR ROLE bert GRANT SELECT ON TABLES TO carl
anna: ALTER DEFAULT PRIVILEGES IN SCHEMA missing GRANT SELECT ON TABLES TO carl
anna: ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT USAGE ON SCHEMAS TO carl
anna: ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON TABLES TO carl
anna: {listed}
anna: CREATE TABLE new (a serial)
anna: CREATE VIEW v AS SELECT 1 AS one
anna: CREATE FUNCTION f() RETURNS integer LANGUAGE sql RETURN 1
anna: CREATE TYPE e AS ENUM ('x')
anna: CREATE TABLE made AS SELECT 1 AS one
bert: SELECT * FROM new
bert: SELECT f()
gpudb: {ACLS}
gpudb: SELECT proname::text, proacl::text FROM pg_proc WHERE proname = 'f'
gpudb: SELECT typname::text, typacl::text FROM pg_type WHERE typname = 'e'
anna: ALTER DEFAULT PRIVILEGES REVOKE SELECT ON TABLES FROM bert
anna: ALTER DEFAULT PRIVILEGES IN SCHEMA public REVOKE INSERT ON TABLES FROM bert
anna: ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO PUBLIC
anna: {listed}
anna: CREATE TABLE plain (a integer)
gpudb: {ACLS}
anna: ALTER DEFAULT PRIVILEGES REVOKE ALL ON SEQUENCES FROM bert
anna: ALTER DEFAULT PRIVILEGES GRANT USAGE ON TYPES TO PUBLIC
anna: {listed}
""")


def test_roles_with_privileges_are_not_dropped(play: Play) -> None:
    play(f"""{SETUP}
gpudb: GRANT CREATE ON SCHEMA public TO anna
gpudb: GRANT SELECT ON t TO bert
gpudb: GRANT SELECT (x, a) ON other TO carl
gpudb: DROP ROLE bert
gpudb: DROP ROLE carl
gpudb: DROP ROLE anna
gpudb: REVOKE SELECT ON t FROM bert
gpudb: REVOKE SELECT (x, a) ON other FROM carl
gpudb: DROP ROLE bert, carl
gpudb: CREATE ROLE bert LOGIN
anna: CREATE TABLE mine (a integer)
anna: GRANT SELECT ON mine TO bert
gpudb: DROP ROLE anna
gpudb: DROP ROLE bert
bert: REASSIGN OWNED BY anna TO bert
bert: DROP OWNED BY anna
gpudb: REASSIGN OWNED BY anna TO bert
gpudb: {ACLS}
gpudb: DROP ROLE anna
gpudb: DROP OWNED BY anna
gpudb: DROP ROLE anna
gpudb: REASSIGN OWNED BY gpudb TO bert
gpudb: DROP OWNED BY gpudb
gpudb: REASSIGN OWNED BY nobody TO bert
gpudb: DROP OWNED BY nobody
bert: CREATE VIEW v AS SELECT 1 AS one
gpudb: GRANT CREATE ON SCHEMA public TO bert
bert: CREATE VIEW v AS SELECT a FROM mine
gpudb: CREATE VIEW dependent AS SELECT a FROM mine
gpudb: DROP OWNED BY bert
gpudb: DROP OWNED BY bert CASCADE
gpudb: DROP ROLE bert
gpudb: {ACLS}
gpudb: ALTER ROLE nobody RENAME TO somebody
""")


def test_renamed_roles_keep_their_privileges(play: Play) -> None:
    play(f"""{SETUP}
gpudb: GRANT SELECT ON t TO anna WITH GRANT OPTION
anna: GRANT SELECT ON t TO bert
gpudb: GRANT UPDATE (a) ON t TO anna
gpudb: ALTER ROLE anna RENAME TO dora
dora: SELECT count(*) FROM t
gpudb: {ACLS}
gpudb: {COLUMN_ACLS}
gpudb: ALTER ROLE dora RENAME TO "Dora D"
gpudb: {ACLS}
""")


def test_membership_gives_privileges(play: Play) -> None:
    play(f"""{SETUP}
gpudb: GRANT SELECT ON t TO anna WITH GRANT OPTION
gpudb: GRANT anna TO bert
bert: SELECT count(*) FROM t
bert: GRANT SELECT ON t TO carl
gpudb: {ACLS}
gpudb: REVOKE anna FROM bert
bert: SELECT count(*) FROM t
gpudb: GRANT anna TO bert WITH INHERIT FALSE
bert: SELECT count(*) FROM t
bert: SET ROLE anna
bert: SELECT count(*) FROM t
bert: RESET ROLE
bert: SELECT count(*) FROM t
gpudb: GRANT pg_read_all_data TO carl
carl: SELECT count(*) FROM other
carl: INSERT INTO other VALUES (9, 'nine')
gpudb: GRANT pg_write_all_data TO carl
carl: INSERT INTO other VALUES (9, 'nine')
carl: UPDATE other SET x = 'ten' WHERE a = 9
carl: DELETE FROM other WHERE a = 9
carl: TRUNCATE other
carl: ALTER TABLE other ADD COLUMN z integer
gpudb: SET ROLE bert
gpudb: SELECT count(*) FROM other
gpudb: CREATE TABLE x (a integer)
gpudb: RESET ROLE
gpudb: SELECT count(*) FROM other
""")


def test_plans_are_not_shared_between_roles(play: Play) -> None:
    play(f"""{SETUP}
gpudb: SELECT a FROM t ORDER BY a
anna: SELECT a FROM t ORDER BY a
gpudb: GRANT SELECT ON t TO anna
anna: SELECT a FROM t ORDER BY a
anna: SELECT a FROM t ORDER BY a
bert: SELECT a FROM t ORDER BY a
gpudb: REVOKE SELECT ON t FROM anna
anna: SELECT a FROM t ORDER BY a
anna: PREPARE p AS SELECT a FROM t ORDER BY a
gpudb: GRANT SELECT ON t TO anna
anna: EXECUTE p
gpudb: REVOKE SELECT ON t FROM anna
anna: EXECUTE p
gpudb: BEGIN
gpudb: GRANT SELECT ON t TO anna
anna: SELECT a FROM t ORDER BY a
gpudb: ROLLBACK
anna: SELECT a FROM t ORDER BY a
""")


def test_security_barriers_hide_rows_from_conditions(play: Play) -> None:
    play(f"""{SETUP}
gpudb: CREATE VIEW open AS SELECT a, b FROM t WHERE a = 1
gpudb: CREATE VIEW closed WITH (security_barrier) AS SELECT a, b FROM t WHERE a = 1
gpudb: GRANT SELECT ON open, closed TO anna
anna: SELECT a FROM closed WHERE 1 / (b - 5) < 5
anna: SELECT a FROM closed WHERE 1 / (b - 2) < 5
anna: SELECT count(*) FROM closed c JOIN closed d USING (a) WHERE 10 / (c.b - 5) < 5
gpudb: ALTER VIEW closed RESET (security_barrier)
gpudb: SELECT relname::text, reloptions FROM pg_class WHERE relname IN ('open', 'closed') ORDER BY 1
gpudb: ALTER VIEW open SET (security_barrier = on, security_invoker = off)
gpudb: SELECT relname::text, reloptions FROM pg_class WHERE relname IN ('open', 'closed') ORDER BY 1
gpudb: ALTER VIEW open SET (security_barrier = maybe)
gpudb: ALTER VIEW open SET (missing = 1)
""")


def test_names_in_schemas_that_may_not_be_used(play: Play) -> None:
    play("""
gpudb: CREATE ROLE anna LOGIN
gpudb: CREATE SCHEMA s
gpudb: CREATE FUNCTION s.f() RETURNS integer LANGUAGE sql RETURN 1
gpudb: CREATE TYPE s.e AS ENUM ('x')
gpudb: CREATE TABLE s.t (a integer)
gpudb: CREATE SEQUENCE s.q
anna: SELECT s.f()
anna: SELECT s.missing()
anna: SELECT 'x'::s.e
anna: SELECT 'x'::s.missing
anna: SELECT * FROM s.f()
anna: DELETE FROM s.t
anna: UPDATE s.t SET a = 1
anna: COPY s.t FROM STDIN
anna: CREATE TEMPORARY VIEW v AS SELECT * FROM s.t
anna: GRANT SELECT ON s.t TO anna
anna: DROP FUNCTION s.f()
anna: DROP TYPE s.e
anna: ALTER TYPE s.e ADD VALUE 'y'
anna: DROP SEQUENCE s.q
anna: DROP TABLE IF EXISTS s.missing
anna: LOCK TABLE s.t
anna: ANALYZE s.t
anna: CREATE TABLE s.new (a integer)
anna: CREATE TEMPORARY TABLE mine (a s.e)
""")


def test_who_may_connect(play: Play) -> None:
    play("""
gpudb: CREATE ROLE anna LOGIN
gpudb: CREATE ROLE bert LOGIN
gpudb: REVOKE CONNECT ON DATABASE gpudb FROM PUBLIC
gpudb: GRANT CONNECT ON DATABASE gpudb TO anna
anna: SELECT current_user
bert: SELECT current_user
gpudb: GRANT CONNECT ON DATABASE gpudb TO PUBLIC
gpudb: REVOKE CONNECT ON DATABASE gpudb FROM anna
bert!: SELECT current_user
""")


def test_what_an_owner_hides_does_not_run_as_a_superuser(play: Play) -> None:
    play("""
gpudb: CREATE ROLE anna LOGIN
gpudb: GRANT CREATE ON SCHEMA public TO anna
gpudb: CREATE TABLE secret (a integer)
gpudb: INSERT INTO secret VALUES (42)
anna: CREATE FUNCTION peek() RETURNS bigint LANGUAGE sql AS 'SELECT sum(a) FROM secret'
anna: CREATE MATERIALIZED VIEW m AS SELECT peek() AS a WITH NO DATA
gpudb: REFRESH MATERIALIZED VIEW m
gpudb: SELECT peek()
anna: CREATE FUNCTION become() RETURNS text LANGUAGE sql SECURITY DEFINER AS 'SELECT set_config(''role'', ''gpudb'', false)'
anna: SELECT become()
gpudb: SELECT become()
gpudb: SELECT current_user
""")


def test_privileges_survive_a_restart(tmp_path: Path) -> None:
    database = Database(tmp_path)
    session = database.session("gpudb")
    run(session, "CREATE ROLE anna LOGIN; CREATE TABLE t (a int, b int); CREATE VIEW v AS SELECT a FROM t")
    run(session, "GRANT SELECT (a) ON t TO anna; GRANT CREATE ON DATABASE gpudb TO anna WITH GRANT OPTION")
    run(session, "ALTER VIEW v SET (security_invoker = true); ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO anna")
    session.close()
    database.close()
    again = Database(tmp_path)
    session, anna = again.session("gpudb"), again.session("anna")
    try:
        run(session, "CREATE TABLE later (a int); GRANT SELECT ON v TO anna")
        for sql in ("SELECT a FROM t", "SELECT a FROM v", "SELECT a FROM later"):
            assert run(anna, sql) == []
        assert state(anna, "SELECT b FROM t") == "42501"
        run(anna, "CREATE SCHEMA own")
    finally:
        session.close()
        anna.close()
        again.close()


def test_grants_of_two_transactions_do_not_overwrite_each_other(session: Session, other: Session) -> None:
    run(session, "CREATE ROLE anna; CREATE ROLE bert; CREATE TABLE t (a int)")
    run(session, "BEGIN; GRANT SELECT ON t TO anna")
    run(other, "GRANT SELECT ON t TO bert")
    assert state(session, "COMMIT") == "40001"
    assert (
        value(session, "SELECT relacl::text FROM pg_class WHERE relname = 't'") == "{gpudb=arwdDxt/gpudb,bert=r/gpudb}"
    )
    run(session, "BEGIN; GRANT SELECT ON t TO anna")
    run(other, "DROP OWNED BY bert; DROP ROLE bert")
    assert state(session, "COMMIT") == "40001"


def test_files_need_privileges_on_the_table(session: Session, connect: Connect, tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("1\n2\n", encoding="utf-8")
    run(session, "CREATE ROLE loader LOGIN; GRANT pg_read_server_files TO loader; CREATE TABLE loaded (a int)")
    client = connect(user="loader")
    append, replace = (
        f"SELECT load_data('loaded', '{file}', ',', '', 100, 0, '', '{m}')" for m in ("append", "replace")
    )
    copy = f"COPY loaded FROM '{file}'"
    for sql in (append, replace, copy):
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied for table loaded"):
            client.execute(sql)
    run(session, "GRANT INSERT ON loaded TO loader")
    client.execute(copy)
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied for table loaded"):
        client.execute(replace)
    run(session, "GRANT TRUNCATE ON loaded TO loader")
    client.execute(replace)
    assert run(session, "SELECT a FROM loaded ORDER BY a") == [(1,), (2,)]


def test_what_psql_lists(play: Play) -> None:
    play(f"""{SETUP}
gpudb: CREATE SEQUENCE q
gpudb: GRANT SELECT (a), UPDATE (b) ON t TO anna
gpudb: GRANT SELECT ON t TO bert WITH GRANT OPTION
gpudb: GRANT USAGE ON SEQUENCE q TO PUBLIC
gpudb: SELECT n.nspname, c.relname, c.relkind, array_to_string(c.relacl, E'\\n'),
  array_to_string(ARRAY(SELECT attname || E':\\n  ' || array_to_string(attacl, E'\\n  ') FROM pg_attribute a
  WHERE attrelid = c.oid AND NOT attisdropped AND attacl IS NOT NULL ORDER BY attnum), E'\\n')
  FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'v', 'm', 'S', 'f', 'p')
  AND n.nspname !~ '^pg_' AND pg_table_is_visible(c.oid) ORDER BY 1, 2
gpudb: SELECT n.nspname, pg_get_userbyid(n.nspowner), array_to_string(n.nspacl, E'\\n') FROM pg_namespace n
  WHERE n.nspname = 'public'
""")


def test_a_scan_that_no_access_names_needs_select(database: Database, session: Session) -> None:
    run(session, "CREATE ROLE reader LOGIN; CREATE TABLE unnamed (a int)")
    reader = database.session("reader")

    def authorize_scan() -> None:
        """Authorises a scan that the binder has not recorded."""
        with database.store.begin() as transaction:
            table = transaction.catalog.relations["public", "unnamed"]
            assert isinstance(table, Table)
            scan = Select((OutputColumn("a", INT4),), (Column(1, 0, INT4, "a"),), Scan(1, table))
            context = Context(reader, parse("SELECT a FROM unnamed")[0], transaction, Cancel())
            assert authorize(context, scan, Accesses()) is scan

    with pytest.raises(GpudbError, match="permission denied for table unnamed"):
        authorize_scan()
    run(session, "GRANT SELECT ON unnamed TO reader")
    authorize_scan()
    reader.close()
