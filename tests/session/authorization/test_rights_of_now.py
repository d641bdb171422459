"""What is revoked from a role ends in its open transactions too, played on PostgreSQL and gpudb and compared."""

from __future__ import annotations

from gpudb.session.database import Database
from tests.session.authorization.conftest import Play
from tests.support.sessions import run, state, value

# PostgreSQL hears of changes when it locks a relation that it has not locked: what takes no lock follows such a read.
SETUP = """
gpudb: CREATE ROLE anna LOGIN
gpudb: CREATE ROLE readers
gpudb: CREATE ROLE boss
gpudb: CREATE SCHEMA s
gpudb: CREATE TABLE s.t (a integer, b integer)
gpudb: CREATE TABLE s.u (a integer)
gpudb: INSERT INTO s.t VALUES (1, 2)
gpudb: CREATE TABLE s.first (a integer)
gpudb: CREATE TABLE s.second (a integer)
gpudb: GRANT SELECT ON s.first, s.second TO PUBLIC
gpudb: INSERT INTO s.u VALUES (7)
gpudb: CREATE FUNCTION s.f() RETURNS integer LANGUAGE plpgsql AS 'BEGIN RETURN 1; END'
gpudb: CREATE FUNCTION s.reads() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT count(*) FROM s.u); END'
gpudb: GRANT USAGE ON SCHEMA s TO anna, readers
gpudb: REVOKE EXECUTE ON FUNCTION s.f() FROM PUBLIC
"""


def test_revokes_reach_open_transactions(play: Play) -> None:
    seen = play(f"""{SETUP}
gpudb: GRANT SELECT, INSERT ON s.t TO anna
gpudb: GRANT SELECT ON s.u TO readers
gpudb: GRANT readers TO anna
gpudb: GRANT EXECUTE ON FUNCTION s.f() TO anna
anna: BEGIN ISOLATION LEVEL REPEATABLE READ
anna: SELECT * FROM s.t
anna: SELECT s.f(), s.reads()
anna: PREPARE kept AS SELECT a FROM s.t
anna: EXECUTE kept
anna: INSERT INTO s.t VALUES (3, 4)
gpudb: INSERT INTO s.u VALUES (8)
gpudb: REVOKE INSERT ON s.t FROM anna
anna: SAVEPOINT p
anna: SELECT has_table_privilege('s.t', 'INSERT'), has_table_privilege('s.t', 'SELECT')
anna: INSERT INTO s.t VALUES (5, 6)
anna: ROLLBACK TO p
anna: SELECT * FROM s.t ORDER BY 1
anna: SELECT * FROM s.u
gpudb: REVOKE SELECT ON s.t FROM anna
gpudb: GRANT SELECT (a) ON s.t TO anna
anna: SELECT b FROM s.t
anna: ROLLBACK TO p
anna: SELECT a FROM s.t ORDER BY 1
anna: EXECUTE kept
gpudb: REVOKE readers FROM anna
anna: SELECT * FROM s.u
anna: ROLLBACK TO p
anna: SELECT s.reads()
anna: ROLLBACK TO p
gpudb: REVOKE EXECUTE ON FUNCTION s.f() FROM anna
anna: TABLE s.first
anna: SELECT s.f()
anna: ROLLBACK TO p
gpudb: GRANT SELECT ON s.u TO anna
anna: SELECT * FROM s.u
anna: RELEASE p
anna: COMMIT
gpudb: SELECT * FROM s.t ORDER BY 1
anna: SELECT a FROM s.t ORDER BY 1
""")
    assert sum(each.sqlstate == "42501" for each in seen) == 5


def test_attributes_and_owners_of_now(play: Play) -> None:
    play(f"""{SETUP}
gpudb: ALTER ROLE anna SUPERUSER
anna: BEGIN ISOLATION LEVEL REPEATABLE READ
anna: SELECT * FROM s.t
gpudb: ALTER ROLE anna NOSUPERUSER
anna: SELECT * FROM s.t
anna: ROLLBACK
gpudb: GRANT boss TO anna
anna!: SELECT 1
gpudb: ALTER FUNCTION s.f() OWNER TO boss
anna: BEGIN ISOLATION LEVEL REPEATABLE READ
anna: SELECT s.f()
anna: SET ROLE boss
anna: SELECT current_user
gpudb: ALTER FUNCTION s.f() OWNER TO gpudb
gpudb: REVOKE boss FROM anna
anna: SAVEPOINT p
anna: TABLE s.first
anna: SELECT s.f()
anna: ROLLBACK TO p
anna: RESET ROLE
anna: SET ROLE boss
anna: ROLLBACK TO p
anna: COMMENT ON FUNCTION s.f() IS 'x'
anna: ROLLBACK
gpudb: REVOKE USAGE ON SCHEMA s FROM anna
gpudb: GRANT SELECT ON s.u TO anna
gpudb: GRANT USAGE ON SCHEMA s TO anna
anna: BEGIN
anna: SELECT * FROM s.u
gpudb: REVOKE USAGE ON SCHEMA s FROM anna
anna: SELECT * FROM s.u
anna: ROLLBACK
""")


def test_own_grants_meet_those_of_others(database: Database) -> None:
    """A transaction keeps its own change of rights, whose commit conflicts with another; a savepoint keeps no right."""
    owner, other = database.session("gpudb"), database.session("gpudb")
    run(owner, "CREATE ROLE reader; CREATE TABLE t (x int); CREATE TABLE kept (x int); GRANT SELECT ON t TO reader")
    run(
        owner,
        "BEGIN ISOLATION LEVEL REPEATABLE READ; GRANT INSERT ON t TO reader; INSERT INTO kept VALUES (1); SAVEPOINT p; INSERT INTO kept VALUES (2)",
    )
    run(other, "REVOKE SELECT ON t FROM reader; GRANT SELECT ON kept TO reader")
    assert value(owner, "SELECT has_table_privilege('reader', 't', 'SELECT')") is True
    assert value(owner, "SELECT has_table_privilege('reader', 'kept', 'SELECT')") is True
    run(owner, "ROLLBACK TO p")
    assert value(owner, "SELECT has_table_privilege('reader', 'kept', 'SELECT')") is True
    assert state(owner, "COMMIT") == "40001"
    assert value(owner, "SELECT has_table_privilege('reader', 't', 'SELECT')") is False
    run(owner, "BEGIN; INSERT INTO kept VALUES (3); SAVEPOINT p; INSERT INTO kept VALUES (4)")
    run(other, "REVOKE SELECT ON kept FROM reader")
    run(owner, "SELECT 1; ROLLBACK TO p; INSERT INTO kept VALUES (5); COMMIT")
    assert value(owner, "SELECT has_table_privilege('reader', 'kept', 'SELECT')") is False
    assert value(owner, "SELECT array_agg(x ORDER BY x) FROM kept") == [3, 5]


def test_a_role_that_another_drops(database: Database) -> None:
    """What a transaction made for a role is not committed once the role is gone."""
    owner, other = database.session("gpudb"), database.session("gpudb")
    run(owner, "CREATE ROLE gone")
    run(owner, "BEGIN ISOLATION LEVEL REPEATABLE READ; CREATE TABLE given (x int); ALTER TABLE given OWNER TO gone")
    run(other, "DROP ROLE gone")
    assert value(owner, "SELECT count(*) FROM pg_roles WHERE rolname = 'gone'") == 0
    assert state(owner, "COMMIT") == "40001"
    assert state(owner, "SELECT * FROM given") == "42P01"
