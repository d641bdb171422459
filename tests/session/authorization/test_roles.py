"""CREATE, ALTER and DROP ROLE, SET ROLE and SET SESSION AUTHORIZATION, and what roles allow, as in PostgreSQL."""

from __future__ import annotations

import psycopg
import pytest

from gpudb.session.session import Session
from tests.session.authorization.conftest import Play
from tests.support.session_fixtures import Connect
from tests.support.sessions import run, state, value

ATTRIBUTES = """SELECT rolname, rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication,
  rolbypassrls, rolconfig FROM pg_roles WHERE oid >= 16384 ORDER BY 1"""


def test_attributes(play: Play) -> None:
    play(f"""
gpudb: CREATE ROLE r1
gpudb: CREATE USER r2
gpudb: CREATE GROUP r3
gpudb: CREATE ROLE r4 SUPERUSER CREATEDB CREATEROLE NOINHERIT LOGIN REPLICATION BYPASSRLS
gpudb: CREATE ROLE r5 LOGIN NOLOGIN
gpudb: CREATE ROLE r5 SYSID 5
gpudb: CREATE ROLE r1
gpudb: CREATE ROLE pg_one
gpudb: CREATE ROLE public
gpudb: CREATE ROLE "none"
gpudb: CREATE ROLE current_user
gpudb: CREATE ROLE r6 PASSWORD ''
gpudb: CREATE ROLE "Mixed Case" WITH LOGIN
gpudb: {ATTRIBUTES}
gpudb: ALTER ROLE r1 LOGIN CREATEDB NOINHERIT
gpudb: ALTER USER r2 WITH NOLOGIN REPLICATION
gpudb: ALTER ROLE r4 NOSUPERUSER NOCREATEDB NOCREATEROLE INHERIT NOREPLICATION NOBYPASSRLS
gpudb: ALTER ROLE nobody LOGIN
gpudb: ALTER ROLE r1 LOGIN NOLOGIN
gpudb: ALTER ROLE gpudb NOSUPERUSER
gpudb: ALTER ROLE r1
gpudb: {ATTRIBUTES}
gpudb: COMMENT ON ROLE r1 IS 'the first'
gpudb: COMMENT ON ROLE nobody IS 'no'
gpudb: SELECT shobj_description(oid, 'pg_authid') FROM pg_roles WHERE rolname = 'r1'
gpudb: DROP ROLE r1, nobody
gpudb: DROP ROLE IF EXISTS nobody, r1
gpudb: DROP ROLE gpudb
gpudb: DROP ROLE CURRENT_USER
gpudb: DROP USER r2
gpudb: {ATTRIBUTES}
""")


def test_names_that_look_like_keywords(play: Play) -> None:
    play("""
gpudb: CREATE ROLE "Public"
gpudb: CREATE ROLE "current_user"
gpudb: CREATE ROLE "None"
gpudb: CREATE ROLE USER
gpudb: CREATE ROLE ALL
gpudb: CREATE ROLE u SUPERUSER
gpudb: CREATE ROLE g SUPERUSER
gpudb: SET SESSION AUTHORIZATION u
gpudb: SET ROLE g
gpudb: ALTER ROLE CURRENT_ROLE REPLICATION
gpudb: ALTER ROLE SESSION_USER BYPASSRLS
gpudb: ALTER ROLE "current_user" CREATEDB
gpudb: ALTER USER "Public" LOGIN
gpudb: SELECT rolname, rolreplication, rolbypassrls, rolcreatedb, rolcanlogin FROM pg_roles WHERE oid >= 16384 ORDER BY 1
gpudb: ALTER ROLE PUBLIC LOGIN
gpudb: ALTER ROLE NONE LOGIN
gpudb: ALTER ROLE PUBLIC SET timezone = 'UTC'
gpudb: GRANT "Public" TO CURRENT_USER
gpudb: GRANT "None" TO SESSION_USER GRANTED BY CURRENT_ROLE
gpudb: GRANT "None" TO SESSION_USER
gpudb: SELECT roleid::regrole::text, member::regrole::text FROM pg_auth_members WHERE member >= 16384 ORDER BY 1, 2
gpudb: SET ROLE "None"
gpudb: SELECT current_user
gpudb: SET ROLE NONE
gpudb: SELECT current_user
gpudb: SET ROLE PUBLIC
gpudb: DROP ROLE SESSION_USER
gpudb: DROP ROLE PUBLIC
gpudb: DROP ROLE u
gpudb: RESET SESSION AUTHORIZATION
gpudb: DROP ROLE u, g, "None", "Public", "current_user"
""")


def test_createrole_rules_its_own_roles_alone(play: Play) -> None:
    play(f"""
gpudb: CREATE ROLE maker LOGIN CREATEROLE
gpudb: CREATE ROLE maker2 LOGIN CREATEROLE CREATEDB REPLICATION BYPASSRLS
gpudb: CREATE ROLE boss SUPERUSER LOGIN
gpudb: CREATE ROLE plain LOGIN
maker: CREATE ROLE own LOGIN
maker: SELECT roleid::regrole::text, member::regrole::text, grantor::regrole::text, admin_option, inherit_option,
  set_option FROM pg_auth_members WHERE member >= 16384 ORDER BY 1, 2, 3
maker: SET createrole_self_grant = 'set, inherit'
maker: CREATE ROLE own2
maker: SET createrole_self_grant = 'nothing'
maker: SET createrole_self_grant = ''
maker: SELECT roleid::regrole::text, member::regrole::text, grantor::regrole::text, admin_option, inherit_option,
  set_option FROM pg_auth_members WHERE member >= 16384 ORDER BY 1, 2, 3
maker: CREATE ROLE no SUPERUSER
maker: CREATE ROLE no CREATEDB
maker: CREATE ROLE no REPLICATION
maker: CREATE ROLE no BYPASSRLS
maker: CREATE ROLE no IN ROLE boss
maker: CREATE ROLE no IN ROLE plain
maker: CREATE ROLE yes CREATEROLE ROLE plain ADMIN maker2
maker: ALTER ROLE own CREATEROLE
maker: ALTER ROLE own CREATEDB
maker: ALTER ROLE own REPLICATION
maker: ALTER ROLE own BYPASSRLS
maker: ALTER ROLE own SUPERUSER
maker: ALTER ROLE own NOSUPERUSER
maker: ALTER ROLE own NOLOGIN PASSWORD 'x'
maker: ALTER ROLE plain NOLOGIN
maker: ALTER ROLE plain PASSWORD 'x'
maker: ALTER ROLE boss PASSWORD 'x'
maker: ALTER ROLE boss SET timezone = 'UTC'
maker: ALTER ROLE plain SET timezone = 'UTC'
maker: ALTER ROLE own SET timezone = 'UTC'
maker: ALTER ROLE plain RENAME TO plainer
maker: ALTER ROLE boss RENAME TO bossy
maker: ALTER ROLE maker RENAME TO made
maker: ALTER ROLE own RENAME TO owned
maker: COMMENT ON ROLE owned IS 'mine'
maker: COMMENT ON ROLE plain IS 'not mine'
maker: COMMENT ON ROLE boss IS 'not mine'
maker: DROP ROLE plain
maker: DROP ROLE boss
maker: DROP ROLE maker
maker: DROP ROLE owned, own2
maker: REVOKE yes FROM maker
maker: REVOKE yes FROM maker2
maker2: CREATE ROLE rich CREATEDB REPLICATION BYPASSRLS
maker2: ALTER ROLE rich NOCREATEDB NOREPLICATION NOBYPASSRLS
plain: CREATE ROLE no
plain: ALTER ROLE plain LOGIN
plain: ALTER ROLE plain PASSWORD 'mine'
plain: ALTER ROLE plain SET timezone = 'Asia/Tokyo'
plain: ALTER ROLE maker SET timezone = 'Asia/Tokyo'
plain: ALTER ROLE maker PASSWORD 'x'
plain: ALTER ROLE maker RENAME TO x
plain: DROP ROLE maker
plain: DROP ROLE nobody
plain: COMMENT ON ROLE plain IS 'me'
boss: CREATE ROLE by_boss SUPERUSER
boss: DROP ROLE by_boss
gpudb: {ATTRIBUTES}
""")


def test_drop_role_with_dependents(play: Play) -> None:
    play("""
gpudb: CREATE ROLE owner LOGIN
gpudb: GRANT CREATE ON DATABASE gpudb TO PUBLIC
gpudb: CREATE ROLE g
gpudb: CREATE ROLE m1
gpudb: GRANT g TO owner WITH ADMIN OPTION
owner: GRANT g TO m1
owner: CREATE SCHEMA AUTHORIZATION owner
owner: CREATE TABLE owner.t (a int)
owner: CREATE VIEW owner.v AS SELECT a FROM owner.t
owner: CREATE SEQUENCE public.s
owner: CREATE TYPE public.mood AS ENUM ('sad')
owner: CREATE FUNCTION public.one(int, text) RETURNS int LANGUAGE sql AS 'SELECT 1'
gpudb: DROP ROLE owner
gpudb: REVOKE g FROM m1 GRANTED BY owner
gpudb: ALTER ROLE owner RENAME TO owner2
owner: SELECT current_user, session_user
gpudb: SELECT relname, relowner::regrole::text FROM pg_class WHERE relname IN ('t', 'v', 's') ORDER BY 1
gpudb: SELECT nspowner::regrole::text FROM pg_namespace WHERE nspname = 'owner'
gpudb: DROP ROLE owner2
gpudb: DROP SCHEMA owner CASCADE
gpudb: DROP SEQUENCE s
gpudb: DROP TYPE mood
gpudb: DROP FUNCTION one
gpudb: DROP ROLE owner2
gpudb: DROP ROLE m1, g
""")


def test_set_role(play: Play) -> None:
    play("""
gpudb: CREATE ROLE g
gpudb: CREATE ROLE admins SUPERUSER
gpudb: CREATE ROLE no_set
gpudb: CREATE ROLE u LOGIN IN ROLE g, admins
gpudb: GRANT no_set TO u WITH SET FALSE
u: SELECT current_user, session_user, user, current_role
u: SHOW role
u: SET ROLE g
u: SELECT current_user, session_user, user, current_role
u: SHOW role
u: SHOW session_authorization
u: SET ROLE no_set
u: SET ROLE nobody
u: SET ROLE gpudb
u: SET ROLE "none"
u: SELECT current_user
u: SET ROLE admins
u: SHOW is_superuser
u: SELECT current_user, pg_has_role('gpudb', 'USAGE')
u: SET SESSION AUTHORIZATION g
u: SET ROLE NONE
u: SHOW is_superuser
u: BEGIN
u: SET LOCAL ROLE g
u: SELECT current_user
u: COMMIT
u: SELECT current_user
u: BEGIN
u: SET ROLE g
u: SAVEPOINT s
u: SET ROLE admins
u: SELECT current_user, current_setting('is_superuser')
u: ROLLBACK TO s
u: SELECT current_user, current_setting('is_superuser')
u: ROLLBACK
u: SELECT current_user
u: SET LOCAL ROLE g
u: SELECT current_user
u: SELECT set_config('role', 'g', false)
u: SELECT current_user, current_setting('role')
u: SELECT set_config('role', 'gpudb', false)
u: RESET ALL
u: SELECT current_user
u: SELECT set_config('session_authorization', 'gpudb', false)
u: RESET ROLE
u: SELECT current_user
u: SET role TO 'g'
u: SELECT current_user
u: SET role TO DEFAULT
u: SELECT current_user
u: SET ROLE g
u: DISCARD ALL
u: SELECT current_user, session_user
""")


def test_set_session_authorization(play: Play) -> None:
    play("""
gpudb: CREATE ROLE g
gpudb: CREATE ROLE u LOGIN IN ROLE g
gpudb: CREATE ROLE plain LOGIN
gpudb: SET SESSION AUTHORIZATION u
gpudb: SELECT current_user, session_user
gpudb: SHOW is_superuser
gpudb: SET ROLE g
gpudb: SELECT current_user, session_user
gpudb: CREATE ROLE no
gpudb: SET ROLE plain
gpudb: SET SESSION AUTHORIZATION plain
gpudb: SELECT current_user, session_user
gpudb: SHOW role
gpudb: SET ROLE u
gpudb: SET SESSION AUTHORIZATION nobody
gpudb: RESET SESSION AUTHORIZATION
gpudb: SELECT current_user, session_user, current_setting('is_superuser')
gpudb: BEGIN
gpudb: SET LOCAL SESSION AUTHORIZATION u
gpudb: SELECT current_user, session_user
gpudb: ROLLBACK
gpudb: SELECT current_user, session_user
gpudb: SET SESSION AUTHORIZATION u
gpudb: SET SESSION AUTHORIZATION DEFAULT
gpudb: SELECT current_user, session_user
gpudb: SET SESSION AUTHORIZATION u
gpudb: DISCARD ALL
gpudb: SELECT current_user, session_user
plain: SET SESSION AUTHORIZATION plain
plain: SET SESSION AUTHORIZATION u
plain: SET SESSION AUTHORIZATION gpudb
plain: SELECT current_user, session_user
gpudb: SET ROLE u
gpudb: ALTER ROLE u RENAME TO u2
gpudb: DROP ROLE u
gpudb: RESET ROLE
gpudb: SET SESSION AUTHORIZATION u
gpudb: DROP ROLE u
gpudb: RESET SESSION AUTHORIZATION
gpudb: ALTER ROLE gpudb RENAME TO other
plain: SELECT current_user
gpudb: ALTER ROLE plain RENAME TO simple
plain: SELECT current_user, session_user
plain: SHOW session_authorization
""")


def test_settings_of_roles(play: Play) -> None:
    play(f"""
gpudb: CREATE ROLE g
gpudb: CREATE ROLE u LOGIN IN ROLE g
gpudb: ALTER ROLE u SET timezone = 'Asia/Tokyo'
gpudb: ALTER ROLE u SET role = 'g'
gpudb: ALTER ROLE u SET my.setting = 'x'
gpudb: {ATTRIBUTES}
u: SHOW timezone
u: SELECT current_user, session_user, current_setting('my.setting')
u: SET timezone = 'Europe/Rome'
u: RESET timezone
u: SHOW timezone
u: SET ROLE NONE
u: SELECT current_user
u: RESET ROLE
u: SELECT current_user
u: SET ROLE NONE
u: SET timezone = 'America/Lima'
u: ALTER ROLE u SET timezone FROM CURRENT
gpudb: ALTER ROLE u RESET role
u!: SHOW timezone
u: SELECT current_user
u: ALTER ROLE u RESET ALL
u!: SHOW timezone
u: ALTER ROLE CURRENT_USER SET timezone = 'Asia/Seoul'
u: ALTER ROLE SESSION_USER RESET timezone
u: ALTER ROLE u SET is_superuser = on
u: ALTER ROLE u SET no_such_setting = 1
u: ALTER ROLE g SET timezone = 'UTC'
u: ALTER ROLE u SET role = 'nobody'
gpudb: {ATTRIBUTES}
""")


def test_signals(play: Play) -> None:
    play("""
gpudb: CREATE ROLE boss SUPERUSER LOGIN
gpudb: CREATE ROLE team
gpudb: CREATE ROLE worker LOGIN IN ROLE team
gpudb: CREATE ROLE colleague LOGIN
gpudb: CREATE ROLE guard LOGIN IN ROLE pg_signal_backend
gpudb: CREATE ROLE chief LOGIN
gpudb: GRANT worker TO chief
colleague: SELECT pg_cancel_backend({pid:worker})
colleague: SELECT pg_terminate_backend({pid:worker})
colleague: SELECT pg_cancel_backend({pid:boss})
colleague: SELECT pg_terminate_backend({pid:boss})
guard: SELECT pg_cancel_backend({pid:boss})
guard: SELECT pg_terminate_backend({pid:boss})
guard: SELECT pg_cancel_backend({pid:worker})
chief: SELECT pg_cancel_backend({pid:worker})
worker: SELECT pg_cancel_backend({pid:chief})
guard: SELECT pg_cancel_backend(1)
guard: SELECT pg_terminate_backend(1)
boss: SELECT pg_cancel_backend({pid:worker})
guard: SELECT pg_terminate_backend({pid:worker})
boss: SELECT pg_terminate_backend({pid:colleague})
""")


def test_activity_of_other_roles(play: Play) -> None:
    play("""
gpudb: CREATE ROLE worker LOGIN
gpudb: CREATE ROLE stranger LOGIN
gpudb: CREATE ROLE watcher LOGIN IN ROLE pg_monitor
gpudb: CREATE ROLE chief LOGIN IN ROLE worker
worker: SELECT 'secret'
stranger: SELECT usename, query FROM pg_stat_activity WHERE usename = 'worker'
watcher: SELECT usename, query FROM pg_stat_activity WHERE usename = 'worker'
chief: SELECT usename, query FROM pg_stat_activity WHERE usename = 'worker'
gpudb: SELECT usename, query FROM pg_stat_activity WHERE usename = 'worker'
gpudb: SET ROLE stranger
gpudb: SELECT usename, query FROM pg_stat_activity WHERE usename = 'worker'
""")


def test_checkpoint(play: Play) -> None:
    play("""
gpudb: CREATE ROLE plain LOGIN
gpudb: CREATE ROLE keeper LOGIN IN ROLE pg_checkpoint
plain: CHECKPOINT
keeper: CHECKPOINT
gpudb: CHECKPOINT
gpudb: BEGIN READ ONLY
gpudb: CHECKPOINT
gpudb: ROLLBACK
""")


def test_server_files(play: Play) -> None:
    play("""
gpudb: CREATE ROLE plain LOGIN
gpudb: CREATE ROLE reader LOGIN IN ROLE pg_read_server_files
gpudb: CREATE ROLE writer LOGIN
gpudb: GRANT pg_write_server_files TO writer WITH INHERIT FALSE
plain: CREATE TABLE files (a int)
reader: CREATE TABLE files_of_reader (a int)
plain: COPY (SELECT 1) TO '{directory}/one'
reader: COPY (SELECT 1) TO '{directory}/one'
writer: COPY (SELECT 1) TO '{directory}/one'
writer: SET ROLE pg_write_server_files
writer: COPY (SELECT 1) TO '{directory}/one'
plain: COPY files FROM '{directory}/one'
writer: RESET ROLE
writer: COPY (SELECT 1) TO PROGRAM 'cat'
reader: COPY files_of_reader FROM '{directory}/one'
reader: SELECT * FROM files_of_reader
plain: COPY files FROM PROGRAM 'echo 1'
gpudb: SET ROLE plain
gpudb: COPY (SELECT 1) TO '{directory}/two'
""")


def test_what_psql_lists(play: Play) -> None:
    play(r"""
gpudb: CREATE ROLE u LOGIN CREATEDB
gpudb: CREATE ROLE g NOINHERIT BYPASSRLS
gpudb: COMMENT ON ROLE g IS 'a group'
gpudb: SELECT r.rolname, r.rolsuper, r.rolinherit, r.rolcreaterole, r.rolcreatedb, r.rolcanlogin, r.rolconnlimit,
  r.rolvaliduntil, pg_catalog.shobj_description(r.oid, 'pg_authid') AS description, r.rolreplication, r.rolbypassrls
  FROM pg_catalog.pg_roles r WHERE r.rolname !~ '^pg_' ORDER BY 1
gpudb: SELECT usename, usecreatedb, usesuper, userepl, usebypassrls, passwd FROM pg_user ORDER BY 1
gpudb: SELECT rolname FROM pg_roles WHERE oid = 'u'::regrole OR oid = to_regrole('g') ORDER BY 1
gpudb: SELECT name FROM pg_settings WHERE name IN ('role', 'session_authorization', 'is_superuser') ORDER BY 1
""")


def test_load_functions_need_the_role_for_server_files(session: Session, connect: Connect) -> None:
    run(session, "CREATE ROLE plain LOGIN; CREATE ROLE reader LOGIN IN ROLE pg_read_server_files")
    for call in ("load_data('t', '/nowhere/file.csv')", "add_files('t', '/nowhere/file.parquet')"):
        plain, reader = connect(user="plain"), connect(user="reader")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            plain.execute(f"SELECT {call}")
        with pytest.raises(psycopg.errors.UndefinedTable):
            reader.execute(f"SELECT {call}")
        plain.close()
        reader.close()
    run(session, "DROP ROLE plain, reader")


def test_a_dropped_role_leaves_its_session_without_privileges(session: Session, connect: Connect) -> None:
    """A role of the same name that comes later is another one."""
    run(session, "CREATE ROLE ghost LOGIN SUPERUSER")
    ghost = connect(user="ghost")
    assert ghost.execute("SELECT current_user").fetchone() == ("ghost",)
    run(session, "DROP ROLE ghost; CREATE ROLE ghost LOGIN SUPERUSER")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        ghost.execute("CREATE ROLE mine")
    assert connect(user="ghost").execute("SELECT current_user").fetchone() == ("ghost",)
    ghost.close()
    run(session, "DROP ROLE ghost")


def test_what_a_session_creates_belongs_to_the_current_role(session: Session) -> None:
    run(session, "CREATE ROLE g; GRANT CREATE ON SCHEMA public TO g")
    run(session, "SET ROLE g; CREATE TABLE of_g (a int); RESET ROLE; CREATE TABLE of_gpudb (a int)")
    owners = "SELECT relname, relowner::regrole::text FROM pg_class WHERE relname LIKE 'of\\_%' ORDER BY 1"
    assert run(session, owners) == [("of_g", "g"), ("of_gpudb", "gpudb")]
    run(session, "CREATE SCHEMA AUTHORIZATION g; SET ROLE g; CREATE TABLE in_own (a int)")
    assert value(session, "SELECT 'in_own'::regclass::oid = 'g.in_own'::regclass::oid") is True
    run(session, "RESET ROLE; DROP OWNED BY g CASCADE; DROP TABLE of_gpudb; DROP ROLE g")


def test_reported_settings_follow_the_role(session: Session, connect: Connect) -> None:
    run(session, "CREATE ROLE reported LOGIN")
    client = connect()
    parameters = client.info.parameter_status
    assert (parameters("session_authorization"), parameters("is_superuser")) == ("gpudb", "on")
    client.execute("SET SESSION AUTHORIZATION reported")
    assert (parameters("session_authorization"), parameters("is_superuser")) == ("reported", "off")
    client.execute("RESET SESSION AUTHORIZATION")
    assert (parameters("session_authorization"), parameters("is_superuser")) == ("gpudb", "on")
    client.close()
    run(session, "DROP ROLE reported")


def test_what_is_refused(session: Session) -> None:
    assert state(session, f"CREATE ROLE r PASSWORD 'md5{'0a' * 16}'") == "0A000"
    run(session, "CREATE ROLE r PASSWORD 'md5 is part of a password'")
    run(session, "DROP ROLE r")
