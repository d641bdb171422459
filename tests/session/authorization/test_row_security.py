"""Row level security beyond PostgreSQL's own: restarts, backups, snapshots, materialized views, loads, policies that
call functions which run statements.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from gpudb.storage.backup.restore import restore
from gpudb.storage.backup.write import back_up
from gpudb.storage.store import Store
from tests.support.wire_server import running_database

_SETUP = """
CREATE ROLE anna; CREATE ROLE bert;
CREATE TABLE docs (id int, owner text); INSERT INTO docs VALUES (1, 'anna'), (2, 'bert'), (3, 'anna');
GRANT ALL ON docs TO anna, bert;
CREATE POLICY own ON docs USING (owner = current_user) WITH CHECK (id < 100);
COMMENT ON POLICY own ON docs IS 'what is mine';
CREATE POLICY low ON docs AS RESTRICTIVE TO anna USING (id < 3);
ALTER TABLE docs ENABLE ROW LEVEL SECURITY; ALTER TABLE docs FORCE ROW LEVEL SECURITY;
"""
_POLICIES = """SELECT policyname, permissive, roles::text, cmd, qual, with_check, obj_description(p.oid, 'pg_policy')
    FROM pg_policies JOIN pg_policy p ON p.polname = policyname ORDER BY 1"""
_KEPT = [
    ("low", "RESTRICTIVE", "{anna}", "ALL", "(id < 3)", None, None),
    ("own", "PERMISSIVE", "{public}", "ALL", "(owner = CURRENT_USER)", "(id < 100)", "what is mine"),
]


def _check_kept(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        assert connection.execute(_POLICIES).fetchall() == _KEPT
        assert connection.execute(
            "SELECT relrowsecurity, relforcerowsecurity FROM pg_class WHERE relname = 'docs'"
        ).fetchall() == [(True, True)]
        connection.execute("SET ROLE anna")
        assert connection.execute("SELECT id FROM docs").fetchall() == [(1,)]


def test_policies_outlive_the_server_and_are_in_backups(tmp_path: Path) -> None:
    with running_database(tmp_path / "data") as dsn, psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(_SETUP)
    with Store(tmp_path / "data") as store:
        manifest = back_up(store, tmp_path / "copy").manifest
    restore(tmp_path / "copy", manifest, tmp_path / "again")
    for folder in ("data", "again"):
        with running_database(tmp_path / folder) as dsn:
            _check_kept(dsn)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[psycopg.Connection]:
    """A client of a server over a directory."""
    with (
        running_database(tmp_path_factory.mktemp("row_security") / "data") as dsn,
        psycopg.connect(dsn, autocommit=True) as connection,
    ):
        connection.execute(_SETUP)
        yield connection


@pytest.fixture
def anna(client: psycopg.Connection) -> Iterator[psycopg.Connection]:
    """The client in the role anna, until the end of the test."""
    client.execute("SET ROLE anna")
    yield client
    client.execute("RESET ROLE")


def test_earlier_snapshots_are_under_the_policies_of_now(anna: psycopg.Connection) -> None:
    anna.execute("RESET ROLE")
    anna.execute("CREATE TABLE past (who text, a int); INSERT INTO past VALUES ('anna', 1), ('bert', 2)")
    ((version,),) = anna.execute("SELECT max(snapshot_id) FROM gpudb_snapshots('past')").fetchall()
    anna.execute("""
        UPDATE past SET a = 10; ALTER TABLE past RENAME COLUMN who TO owner; GRANT SELECT ON past TO anna;
        CREATE POLICY own ON past USING (owner = current_user); ALTER TABLE past ENABLE ROW LEVEL SECURITY;
        SET ROLE anna""")
    assert anna.execute("SELECT a FROM past").fetchall() == [(10,)]
    assert anna.execute(f"SELECT who, a FROM past FOR SYSTEM_VERSION AS OF {version}").fetchall() == [("anna", 1)]


def test_stored_rows_are_those_that_their_owner_sees(anna: psycopg.Connection) -> None:
    anna.execute("RESET ROLE")
    anna.execute("""
        CREATE SCHEMA kept; GRANT ALL ON SCHEMA kept TO anna; SET ROLE anna;
        CREATE TABLE kept.copied AS SELECT id FROM public.docs; CREATE MATERIALIZED VIEW kept.shown AS TABLE public.docs""")
    assert anna.execute("SELECT * FROM kept.copied").fetchall() == [(1,)]
    anna.execute("RESET ROLE")
    anna.execute("REFRESH MATERIALIZED VIEW kept.shown")
    assert anna.execute("SELECT id FROM kept.shown").fetchall() == [(1,)]


@pytest.mark.parametrize("sql", [
    "SELECT load_data('docs', '/nowhere.csv')",
    "SELECT add_files('docs', '/nowhere.parquet')",
    "SELECT gpudb_restore_snapshot('docs', 1)",
    "COPY docs FROM STDIN",
])  # fmt: skip
def test_whole_tables_are_not_written(anna: psycopg.Connection, sql: str) -> None:
    anna.execute("RESET ROLE")
    anna.execute("GRANT pg_read_server_files TO anna; SET ROLE anna")
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="row-level security"):
        anna.execute(sql)
    anna.execute("SET row_security = off")
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="affected by row-level security policy"):
        anna.execute(sql)
    anna.execute("RESET row_security")


def test_a_policy_may_call_functions_that_run_statements(anna: psycopg.Connection) -> None:
    anna.execute("RESET ROLE")
    anna.execute("""
        CREATE TABLE called (a int); INSERT INTO called VALUES (1), (2), (3); GRANT ALL ON called TO anna;
        CREATE TABLE allowed (a int); INSERT INTO allowed VALUES (2), (4);
        CREATE FUNCTION is_allowed(x int) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
            AS 'BEGIN RETURN EXISTS (SELECT FROM public.allowed l WHERE l.a = x); END';
        CREATE POLICY p ON called USING (is_allowed(a)); ALTER TABLE called ENABLE ROW LEVEL SECURITY; SET ROLE anna""")
    assert anna.execute("SELECT a FROM called").fetchall() == [(2,)]
    assert anna.execute("SELECT count(*) FROM called WHERE a > 0").fetchall() == [(1,)]
    anna.execute("INSERT INTO called VALUES (4)")
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="new row violates"):
        anna.execute("INSERT INTO called VALUES (4), (5)")
    assert anna.execute("UPDATE called SET a = 2 WHERE a >= 3").rowcount == 1
    assert anna.execute("DELETE FROM called").rowcount == 2


@pytest.mark.parametrize("level", ["READ COMMITTED", "REPEATABLE READ"])
def test_a_policy_reaches_open_transactions(client: psycopg.Connection, level: str) -> None:
    client.execute(
        "CREATE TABLE open_for AS SELECT g AS a FROM generate_series(1, 3) g; GRANT SELECT ON open_for TO anna"
    )
    with psycopg.connect(client.info.dsn, autocommit=True) as other:
        other.execute("SET ROLE anna")
        other.execute(f"BEGIN ISOLATION LEVEL {level}")
        assert other.execute("SELECT count(*) FROM open_for").fetchall() == [(3,)]
        client.execute("CREATE POLICY p ON open_for USING (a = 2); ALTER TABLE open_for ENABLE ROW LEVEL SECURITY")
        assert other.execute("SELECT a FROM open_for").fetchall() == [(2,)]
        client.execute("DROP POLICY p ON open_for")
        assert other.execute("SELECT count(*) FROM open_for").fetchall() == [(0,)]
        other.execute("ROLLBACK")
    client.execute("DROP TABLE open_for")


def test_a_new_name_that_a_subquery_has_is_refused(client: psycopg.Connection) -> None:
    client.execute("""
        CREATE TABLE inner_names (b int, c int); CREATE TABLE named (a int, b int);
        CREATE POLICY p ON named USING (EXISTS (SELECT FROM inner_names WHERE c = a))""")
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="means something else"):
        client.execute("ALTER TABLE named DROP COLUMN b; ALTER TABLE named RENAME COLUMN a TO b")
    client.execute("ALTER TABLE named RENAME COLUMN a TO d")
    assert client.execute(
        "SELECT pg_get_expr(polqual, polrelid) FROM pg_policy WHERE polrelid = 'named'::regclass"
    ).fetchall() == [("(EXISTS (SELECT FROM public.inner_names WHERE c = d))",)]


@pytest.mark.parametrize("sql", [
    "SELECT NULLIF((SELECT max(id) FROM docs), 5) = 1",
    "SELECT (SELECT max(id) FROM docs) BETWEEN 0 AND 1",
    "SELECT (SELECT max(id) FROM docs) BETWEEN SYMMETRIC 1 AND 0",
    "SELECT NULLIF((SELECT max(d.id) FROM (VALUES (0)) v (a) FULL JOIN docs d ON d.id = a), 5) = 1",
])  # fmt: skip
def test_each_use_of_a_subquery_is_under_the_policies(anna: psycopg.Connection, sql: str) -> None:
    assert anna.execute(sql).fetchall() == [(True,)]


def test_functions_in_from_see_no_hidden_row(anna: psycopg.Connection) -> None:
    anna.execute("RESET ROLE")
    anna.execute("""
        CREATE FUNCTION told(a int) RETURNS SETOF int LANGUAGE plpgsql
            AS 'BEGIN RAISE NOTICE ''%'', a; RETURN NEXT a; END'; SET ROLE anna""")
    told: list[str | None] = []
    anna.add_notice_handler(lambda notice: told.append(notice.message_primary))
    assert anna.execute("SELECT d.id, f FROM docs d, told(d.id) f").fetchall() == [(1, 1)]
    assert told == ["1"]


@pytest.mark.parametrize("language", ["sql", "plpgsql"])
def test_a_function_of_its_definer_sees_the_rows_of_that_role(anna: psycopg.Connection, language: str) -> None:
    body = "SELECT sum(id) FROM docs" if language == "sql" else "BEGIN RETURN (SELECT sum(id) FROM docs); END"
    anna.execute("RESET ROLE; GRANT CREATE ON SCHEMA public TO bert; SET ROLE bert")
    anna.execute(f"CREATE FUNCTION of_{language}() RETURNS int LANGUAGE {language} SECURITY DEFINER AS '{body}'")
    assert anna.execute(f"SELECT of_{language}(), sum(id) FROM docs").fetchall() == [(2, 2)]
    anna.execute("SET ROLE anna")
    assert anna.execute(f"SELECT of_{language}(), sum(id) FROM docs").fetchall() == [(2, 1)]


@pytest.mark.parametrize("sql", [
    "SELECT id FROM docs TABLESAMPLE SYSTEM (100)",
    "SELECT id FROM docs TABLESAMPLE BERNOULLI (100) REPEATABLE (1) WHERE 1 / id >= 0",
    "SELECT id FROM docs TABLESAMPLE SYSTEM (100) FOR UPDATE",
    "UPDATE docs SET id = 1 FROM docs d TABLESAMPLE SYSTEM (100) WHERE d.id > 0 RETURNING d.id",
])  # fmt: skip
def test_samples_are_of_the_rows_that_policies_show(anna: psycopg.Connection, sql: str) -> None:
    assert anna.execute(sql).fetchall() == [(1,)]
