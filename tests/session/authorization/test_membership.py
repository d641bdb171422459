"""GRANT and REVOKE of roles, memberships and their options, as PostgreSQL has them."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from gpudb.catalog.model import make_initial_catalog
from gpudb.catalog.predefined_roles import with_predefined_roles
from gpudb.catalog.roles import Membership, Role
from gpudb.errors import SerializationFailure
from gpudb.session.authorization.membership import (
    can_set_role,
    inherited_roles,
    is_admin,
    is_member,
    is_superuser,
)
from gpudb.session.database import Database
from gpudb.session.session import Session
from gpudb.storage.catalog.records import decode, encode
from tests.session.authorization.conftest import Play
from tests.support.sessions import fails, run, value

MEMBERS = """SELECT roleid::regrole::text, member::regrole::text, grantor::regrole::text,
  admin_option, inherit_option, set_option FROM pg_auth_members WHERE grantor <> 10 OR member >= 16384 ORDER BY 1, 2, 3"""

HAS_ROLE = """SELECT m.rolname, r.rolname, pg_has_role(m.oid, r.oid, 'USAGE'), pg_has_role(m.rolname, r.oid, 'MEMBER'),
  pg_has_role(m.oid, r.rolname, 'SET'), pg_has_role(m.rolname, r.rolname, 'USAGE WITH ADMIN OPTION')
  FROM pg_roles m, pg_roles r WHERE m.oid >= 16384 AND r.oid >= 16384 ORDER BY 1, 2"""


def test_options_of_grants(play: Play) -> None:
    play(f"""
gpudb: CREATE ROLE g1
gpudb: CREATE ROLE g2
gpudb: CREATE ROLE heir
gpudb: CREATE ROLE other NOINHERIT
gpudb: GRANT g1 TO heir, other
gpudb: GRANT g1 TO heir
gpudb: GRANT g2 TO heir WITH ADMIN OPTION
gpudb: GRANT g2 TO other WITH INHERIT TRUE, SET FALSE
gpudb: GRANT g2 TO other WITH INHERIT FALSE
gpudb: GRANT g2, g1 TO other WITH ADMIN TRUE
gpudb: {MEMBERS}
gpudb: {HAS_ROLE}
gpudb: REVOKE ADMIN OPTION FOR g2 FROM heir
gpudb: REVOKE INHERIT OPTION FOR g1 FROM heir
gpudb: REVOKE SET OPTION FOR g1 FROM heir, other
gpudb: {MEMBERS}
gpudb: {HAS_ROLE}
gpudb: REVOKE g1, g2 FROM heir
gpudb: REVOKE g1 FROM heir
gpudb: {MEMBERS}
gpudb: GRANT g1 TO other WITH NOTHING TRUE
gpudb: GRANT g1 TO other WITH ADMIN maybe
gpudb: GRANT g1 TO other WITH GRANT OPTION
gpudb: GRANT g1 TO nobody
gpudb: GRANT nobody TO g1
gpudb: GRANT g1 TO PUBLIC
gpudb: GRANT g1 (a) TO other
gpudb: REVOKE nobody FROM g1
gpudb: GRANT g1 TO CURRENT_USER
gpudb: GRANT g1 TO heir GRANTED BY nobody
gpudb: {MEMBERS}
gpudb: {HAS_ROLE}
""")


def test_no_circles(play: Play) -> None:
    play(f"""
gpudb: CREATE ROLE a
gpudb: CREATE ROLE b
gpudb: CREATE ROLE c
gpudb: GRANT a TO a
gpudb: GRANT a TO b
gpudb: GRANT b TO c
gpudb: GRANT c TO a
gpudb: GRANT b TO a
gpudb: GRANT pg_database_owner TO a
gpudb: GRANT a TO pg_database_owner
gpudb: GRANT pg_monitor TO c
gpudb: GRANT c TO pg_read_all_stats
gpudb: GRANT gpudb TO a
gpudb: {MEMBERS}
""")


def test_grantors_and_dependent_grants(play: Play) -> None:
    play(f"""
gpudb: CREATE ROLE g
gpudb: CREATE ROLE one LOGIN
gpudb: CREATE ROLE two LOGIN
gpudb: CREATE ROLE three LOGIN
gpudb: CREATE ROLE team
gpudb: CREATE ROLE indirect LOGIN IN ROLE team
gpudb: GRANT g TO one WITH ADMIN OPTION
one: GRANT g TO two WITH ADMIN OPTION
two: GRANT g TO three WITH ADMIN OPTION
two: GRANT g TO one WITH ADMIN OPTION
three: GRANT g TO one WITH ADMIN OPTION
three: GRANT g TO gpudb WITH ADMIN OPTION
three: GRANT g TO one
one: {MEMBERS}
gpudb: GRANT g TO team WITH ADMIN OPTION
indirect: GRANT g TO three
indirect: GRANT g TO three GRANTED BY team
indirect: GRANT g TO three GRANTED BY one
one: REVOKE g FROM three GRANTED BY two
gpudb: GRANT g TO three GRANTED BY indirect
gpudb: {MEMBERS}
gpudb: REVOKE g FROM three
two: REVOKE g FROM three
one: REVOKE ADMIN OPTION FOR g FROM two
one: REVOKE g FROM two
gpudb: DROP ROLE two
gpudb: REVOKE ADMIN OPTION FOR g FROM one CASCADE
gpudb: {MEMBERS}
one: GRANT g TO two
one: REVOKE g FROM one
gpudb: REVOKE g FROM three GRANTED BY team
gpudb: DROP ROLE team, indirect
gpudb: {MEMBERS}
""")


def test_who_may_grant(play: Play) -> None:
    play(f"""
gpudb: CREATE ROLE boss SUPERUSER
gpudb: CREATE ROLE maker CREATEROLE LOGIN
gpudb: CREATE ROLE plain LOGIN
gpudb: CREATE ROLE group1
maker: GRANT group1 TO plain
maker: GRANT boss TO plain
maker: REVOKE boss FROM plain
maker: REVOKE group1 FROM plain
maker: GRANT pg_read_all_data TO plain
plain: GRANT group1 TO plain
gpudb: GRANT boss TO plain
gpudb: GRANT group1 TO maker WITH ADMIN OPTION, INHERIT FALSE, SET FALSE
maker: GRANT group1 TO plain
maker: SET ROLE group1
maker: GRANT group1 TO maker
maker: SET ROLE group1
gpudb: {MEMBERS}
plain: SET ROLE boss
plain: SELECT current_user, session_user
plain: SHOW is_superuser
plain: GRANT group1 TO boss
plain: RESET ROLE
gpudb: {MEMBERS}
""")


def test_members_of_create_role(play: Play) -> None:
    play(f"""
gpudb: CREATE ROLE base
gpudb: CREATE ROLE base2
gpudb: CREATE USER u1
gpudb: CREATE USER u2 NOINHERIT
gpudb: CREATE ROLE full_one IN ROLE base, base2 ROLE u1, u2 ADMIN u2
gpudb: CREATE ROLE named_twice ROLE u1 ROLE u2
gpudb: CREATE ROLE looped ROLE looped
gpudb: CREATE ROLE unknown IN ROLE nobody
gpudb: CREATE ROLE unknown ROLE nobody
gpudb: CREATE GROUP team USER u1
gpudb: CREATE ROLE old_way IN GROUP base
gpudb: {MEMBERS}
gpudb: ALTER GROUP team ADD USER u2, u1
gpudb: ALTER GROUP team DROP USER u1
gpudb: ALTER GROUP team ADD USER nobody
gpudb: ALTER GROUP nobody ADD USER u1
u1: ALTER GROUP team ADD USER u1
gpudb: {MEMBERS}
gpudb: SELECT groname, array_length(grolist, 1) FROM pg_group WHERE grosysid >= 16384 ORDER BY 1
gpudb: ALTER GROUP team RENAME TO crew
gpudb: {MEMBERS}
gpudb: DROP GROUP crew
gpudb: {MEMBERS}
""")


def test_what_memberships_show(play: Play) -> None:
    play("""
gpudb: CREATE ROLE dept
gpudb: CREATE ROLE team IN ROLE dept
gpudb: CREATE ROLE worker LOGIN IN ROLE team
gpudb: GRANT dept TO worker WITH ADMIN OPTION, INHERIT FALSE
gpudb: GRANT pg_monitor TO team
worker: SELECT * FROM information_schema.enabled_roles ORDER BY 1
worker: SELECT * FROM information_schema.applicable_roles ORDER BY 1, 2
worker: SELECT * FROM information_schema.administrable_role_authorizations ORDER BY 1, 2
worker: SELECT pg_has_role('dept', 'USAGE'), pg_has_role('pg_read_all_stats', 'usage, set'),
  pg_has_role('gpudb', 'MEMBER')
worker: SELECT pg_has_role('dept', 'MEMBER WITH ADMIN OPTION'), pg_has_role('team', ' member with grant option ')
worker: SELECT p, pg_has_role('team', p), pg_has_role('worker', 'dept', p), pg_has_role('dept', 'team', p)
  FROM (VALUES ('USAGE'), ('set with admin option'), (' Member , usage'), (NULL)) AS v(p) ORDER BY 1
worker: SELECT pg_has_role('team', p) FROM (VALUES ('SELECT')) AS v(p)
worker: SELECT pg_has_role('nobody', 'USAGE')
worker: SELECT pg_has_role('team', 'SELECT')
worker: SELECT pg_has_role('nobody', 'team', 'USAGE')
worker: SELECT pg_has_role(1::oid, 'USAGE'), pg_has_role(1::oid, 1::oid, 'USAGE')
worker: SELECT pg_has_role(NULL, 'USAGE'), pg_has_role('team', NULL)
worker: SET ROLE team
worker: SELECT * FROM information_schema.enabled_roles ORDER BY 1
worker: SELECT * FROM information_schema.applicable_roles ORDER BY 1, 2
gpudb: SELECT pg_has_role('worker', 'USAGE'), pg_has_role('gpudb', 'pg_database_owner', 'SET'),
  pg_has_role(1::oid, 'SET')
gpudb: SELECT * FROM information_schema.enabled_roles WHERE role_name ~ '^pg_' ORDER BY 1
gpudb: SELECT * FROM information_schema.applicable_roles ORDER BY 1, 2
gpudb: SELECT m.rolname AS "Role name", r.rolname AS "Member of", pg_catalog.concat_ws(', ',
  CASE WHEN pam.admin_option THEN 'ADMIN' END, CASE WHEN pam.inherit_option THEN 'INHERIT' END,
  CASE WHEN pam.set_option THEN 'SET' END) AS "Options", g.rolname AS "Grantor"
  FROM pg_catalog.pg_roles m JOIN pg_catalog.pg_auth_members pam ON (pam.member = m.oid)
  LEFT JOIN pg_catalog.pg_roles r ON (pam.roleid = r.oid) LEFT JOIN pg_catalog.pg_roles g ON (pam.grantor = g.oid)
  WHERE m.rolname !~ '^pg_' ORDER BY 1, 2, 4
""")


def test_predefined_roles(play: Play) -> None:
    play("""
gpudb: SELECT oid::int, rolname, rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication,
  rolconnlimit, rolbypassrls FROM pg_roles WHERE oid < 16384 ORDER BY 1
gpudb: SELECT oid::int, roleid::regrole::text, member::regrole::text, grantor::int, admin_option, inherit_option,
  set_option FROM pg_auth_members WHERE member < 16384 ORDER BY 1
gpudb: ALTER ROLE pg_monitor LOGIN
gpudb: ALTER ROLE pg_monitor SET work_mem = '4MB'
gpudb: ALTER ROLE pg_monitor RENAME TO monitor
gpudb: DROP ROLE pg_monitor
gpudb: CREATE ROLE pg_mine
gpudb: CREATE ROLE mine
gpudb: ALTER ROLE mine RENAME TO pg_mine
gpudb: REVOKE pg_read_all_stats FROM pg_monitor
gpudb: GRANT pg_read_all_stats TO pg_monitor
gpudb: SET ROLE pg_monitor
gpudb: SELECT current_user, pg_has_role('pg_read_all_stats', 'USAGE')
""")


def _catalog(*grants: Membership) -> tuple[Role, ...]:
    names = {name for grant in grants for name in (grant.role, grant.member)}
    return tuple(Role(20_000 + number, name, login=False) for number, name in enumerate(sorted(names)))


def test_questions_of_the_catalog() -> None:
    grants = (
        Membership(1, "a", "b", "gpudb"),
        Membership(2, "b", "c", "gpudb", inherit=False),
        Membership(3, "x", "b", "gpudb", admin=True, inherit=False, set=False),
    )
    catalog = with_predefined_roles(make_initial_catalog())
    for role in _catalog(*grants):
        catalog = catalog.put(role)
    for grant in grants:
        catalog = catalog.put(grant)
    assert inherited_roles(catalog, "b") == {"a", "b"}
    assert inherited_roles(catalog, "c") == {"c"}
    assert inherited_roles(catalog, "gpudb") == {"gpudb", "pg_database_owner"}
    assert is_member(catalog, "c", "x")
    assert not is_member(catalog, "x", "c")
    assert is_member(catalog, "gpudb", "x")
    assert can_set_role(catalog, "c", "a")
    assert not can_set_role(catalog, "b", "x")
    assert is_admin(catalog, "b", "x")
    assert is_admin(catalog, "c", "x")
    assert not is_admin(catalog, "x", "x")
    assert is_superuser(catalog, "gpudb")
    assert not is_superuser(catalog, "a")
    assert not is_superuser(catalog, "nobody")


def test_memberships_are_encoded() -> None:
    grant = Membership(16400, "a.b", 'c"d', "gpudb", admin=True, set=False)
    assert decode(encode(grant)) == grant
    assert grant.key == '"a.b"."c""d"."gpudb"'
    assert decode('{"":"Role","oid":10,"name":"gpudb","superuser":true,"settings":{}}') == Role(
        10, "gpudb", superuser=True
    )


def test_memberships_survive_a_restart_and_an_older_catalog_gets_the_predefined_roles(tmp_path: Path) -> None:
    database = Database(tmp_path / "data")
    session = database.session("gpudb")
    run(
        session,
        "CREATE ROLE g; CREATE ROLE m; GRANT g TO m WITH ADMIN OPTION; REVOKE pg_read_all_stats FROM pg_monitor",
    )
    rows = run(session, "SELECT oid, roleid, member, grantor, admin_option FROM pg_auth_members ORDER BY 1")
    session.close()
    database.close()
    database = Database(tmp_path / "data")
    session = database.session("gpudb")
    assert run(session, "SELECT oid, roleid, member, grantor, admin_option FROM pg_auth_members ORDER BY 1") == rows
    session.close()
    database.close()

    with sqlite3.connect(tmp_path / "data" / "catalog.db") as connection:
        connection.execute("DELETE FROM gpudb_objects WHERE kind = 'memberships' OR name LIKE 'pg\\_%' ESCAPE '\\'")
        connection.execute(
            "UPDATE gpudb_objects SET definition = ? WHERE name = 'gpudb' AND kind = 'roles'",
            ('{"":"Role","oid":10,"name":"gpudb","superuser":true,"createdb":true,"createrole":true,"settings":{}}',),
        )
    connection.close()
    for _ in range(2):
        database = Database(tmp_path / "data")
        session = database.session("gpudb")
        assert value(session, "SELECT count(*) FROM pg_roles WHERE rolname ~ '^pg_'") == 14
        assert value(session, "SELECT count(*) FROM pg_auth_members") == 3
        assert run(session, "SELECT rolreplication, rolbypassrls FROM pg_roles WHERE oid = 10") == [(True, True)]
        session.close()
        database.close()


def test_concurrent_changes_of_roles(session: Session, other: Session) -> None:
    run(session, "CREATE ROLE a; CREATE ROLE b; CREATE ROLE c")
    run(session, "BEGIN; GRANT a TO b")
    run(other, "BEGIN; GRANT b TO a")
    run(session, "COMMIT")
    assert isinstance(fails(other, "COMMIT"), SerializationFailure)
    assert value(session, "SELECT count(*) FROM pg_auth_members WHERE member >= 16384") == 1
    run(session, "BEGIN; CREATE TABLE t (a int); ALTER TABLE t OWNER TO c")
    run(other, "DROP ROLE c")
    assert isinstance(fails(session, "COMMIT"), SerializationFailure)
    run(session, "BEGIN; GRANT a TO gpudb")
    run(other, "ALTER ROLE a RENAME TO a2")
    assert isinstance(fails(session, "COMMIT"), SerializationFailure)
    run(session, "DROP ROLE a2, b")
