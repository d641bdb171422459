"""Triggers in sessions: COPY and loads, restarts, repair, what is refused, and that rows at once are rows one by one."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

import gpudb
from gpudb.storage.recovery.rebuild import repair
from tests.support.emptying import empty_database
from tests.support.sessions import wait_until

_AUDIT = """
CREATE TABLE item (id int PRIMARY KEY, name text);
CREATE TABLE audit (op text, id int, name text);
CREATE FUNCTION record() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO audit VALUES (tg_op, new.id, new.name);
    RETURN NULL;
END $$;
CREATE FUNCTION tidy() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF new.name = 'no' THEN RETURN NULL; END IF;
    new.name := upper(new.name);
    RETURN new;
END $$;
CREATE TRIGGER record AFTER INSERT OR UPDATE ON item FOR EACH ROW EXECUTE FUNCTION record();
CREATE TRIGGER tidy BEFORE INSERT ON item FOR EACH ROW EXECUTE FUNCTION tidy();
"""


@pytest.fixture
def connection(gpudb_server: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(gpudb_server, autocommit=True) as opened:
        opened.execute(_AUDIT.encode())
        yield opened
    empty_database(gpudb_server)


def audited(connection: psycopg.Connection) -> list[tuple[object, ...]]:
    """The rows of the audit table."""
    return connection.execute("SELECT * FROM audit ORDER BY id, op").fetchall()


@pytest.mark.parametrize("count", [2, 7])
def test_copy_fires_triggers(connection: psycopg.Connection, count: int) -> None:
    cursor = connection.cursor()
    with cursor.copy("COPY item FROM STDIN") as copy:
        for number in range(count):
            copy.write_row((number, "no" if number == 1 else f"n{number}"))
    assert cursor.statusmessage == f"COPY {count - 1}"
    kept = [number for number in range(count) if number != 1]
    assert connection.execute("SELECT * FROM item ORDER BY 1").fetchall() == [(n, f"N{n}") for n in kept]
    assert audited(connection) == [("INSERT", n, f"N{n}") for n in kept]


def test_copy_into_a_view(connection: psycopg.Connection) -> None:
    connection.execute("CREATE VIEW seen AS SELECT id, name AS shown, 1 AS one FROM item")
    with pytest.raises(psycopg.errors.WrongObjectType), connection.cursor().copy("COPY seen (id, shown) FROM STDIN"):
        pass
    connection.execute(
        "CREATE FUNCTION puts() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN INSERT INTO item VALUES (new.id, new.shown || tg_argv[0]); RETURN new; END $$"
    )
    connection.execute("CREATE TRIGGER v INSTEAD OF INSERT ON seen FOR EACH ROW EXECUTE FUNCTION puts('!')")
    with connection.cursor().copy("COPY seen (id, shown) FROM STDIN") as copy:
        copy.write_row((1, "a"))
        copy.write_row((2, "b"))
    assert audited(connection) == [("INSERT", 1, "A!"), ("INSERT", 2, "B!")]


def test_an_error_of_a_trigger_ends_copy(connection: psycopg.Connection) -> None:
    connection.execute("ALTER TABLE audit ADD CHECK (id < 5)")
    with (
        pytest.raises(psycopg.errors.CheckViolation, match="audit") as caught,
        connection.cursor().copy("COPY item FROM STDIN") as copy,
    ):
        for number in range(9):
            copy.write_row((number, "n"))
    assert "PL/pgSQL function record() line 3 at SQL statement" in (caught.value.diag.context or "")
    assert connection.execute("SELECT count(*) FROM item").fetchone() == (0,)
    assert audited(connection) == []


def test_loads_fire_triggers_and_adoption_is_refused(connection: psycopg.Connection, tmp_path: Path) -> None:
    connection.execute(f"COPY (SELECT 1 AS id, 'one' AS name) TO '{tmp_path}/a.parquet' (FORMAT parquet)")
    connection.execute(f"SELECT load_data('item', '{tmp_path}/a.parquet')")
    assert audited(connection) == [("INSERT", 1, "ONE")]
    connection.execute(
        "CREATE FUNCTION shows() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE '%', tg_op; RETURN NULL; END $$"
    )
    connection.execute("CREATE TRIGGER cleared AFTER TRUNCATE ON item EXECUTE FUNCTION shows()")
    notices: list[str | None] = []
    connection.add_notice_handler(lambda each: notices.append(each.message_primary))
    connection.execute(f"SELECT load_data('item', '{tmp_path}/a.parquet', NULL, NULL, NULL, NULL, NULL, 'replace')")
    assert notices == ["TRUNCATE"]
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="it has triggers for INSERT"):
        connection.execute(f"SELECT add_files('item', '{tmp_path}/a.parquet')")


def test_prepared_statements_notice_new_triggers(connection: psycopg.Connection) -> None:
    connection.execute("DROP TRIGGER record ON item")
    for number in range(6):
        connection.execute("INSERT INTO item VALUES (%s, 'x')", (number,), prepare=True)
        if number == 3:
            connection.execute("CREATE TRIGGER record AFTER INSERT ON item FOR EACH ROW EXECUTE FUNCTION record()")
    assert audited(connection) == [("INSERT", 4, "X"), ("INSERT", 5, "X")]


def test_savepoints_undo_what_triggers_did(connection: psycopg.Connection) -> None:
    with connection.transaction():
        connection.execute("INSERT INTO item VALUES (1, 'kept')")
        with connection.transaction() as inner:
            connection.execute("INSERT INTO item SELECT g, 'undone' FROM generate_series(2, 9) g")
            raise psycopg.Rollback(inner)
    assert audited(connection) == [("INSERT", 1, "KEPT")]


@pytest.mark.parametrize("sql", ["INSERT INTO item VALUES (2, 'b')", "UPDATE item SET name = 'c'"])
def test_what_triggers_update_is_locked_before_the_statement_reads(
    connection: psycopg.Connection, gpudb_server: str, sql: str
) -> None:
    connection.execute("CREATE TABLE total (n int)")
    connection.execute("INSERT INTO total VALUES (0)")
    connection.execute("INSERT INTO item VALUES (1, 'a')")
    connection.execute(
        "CREATE OR REPLACE FUNCTION record() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN IF new.id > 0 THEN UPDATE total SET n = n + 1; END IF; RETURN NULL; END $$"
    )
    with psycopg.connect(gpudb_server, autocommit=True) as other, ThreadPoolExecutor(1) as beside:
        waiting = f"SELECT count(*) FROM pg_locks WHERE pid = {other.info.backend_pid} AND NOT granted"
        with connection.transaction():
            connection.execute("UPDATE total SET n = n + 10")
            written = beside.submit(other.execute, sql.encode())
            wait_until(lambda: connection.execute(waiting.encode()).fetchone() == (1,), "the other session waits")
        written.result()
    assert connection.execute("SELECT n FROM total").fetchone() == (11,)


def test_triggers_lock_nothing_that_their_role_may_not_change(
    connection: psycopg.Connection, gpudb_server: str
) -> None:
    connection.execute("CREATE TABLE total (n int); CREATE TABLE own (id int); CREATE ROLE triggers_guest")
    connection.execute("GRANT INSERT ON own TO triggers_guest")
    connection.execute(
        "CREATE OR REPLACE FUNCTION record() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN IF new.id > 1 THEN UPDATE total SET n = 1; END IF; RETURN NULL; END $$"
    )
    connection.execute("CREATE TRIGGER record AFTER INSERT ON own FOR EACH ROW EXECUTE FUNCTION record()")
    try:
        with psycopg.connect(gpudb_server, autocommit=True) as other, connection.transaction():
            connection.execute("LOCK TABLE total")
            other.execute("SET ROLE triggers_guest")
            other.execute("SET lock_timeout = '1s'")
            other.execute("INSERT INTO own VALUES (1)")
        assert connection.execute("SELECT * FROM own").fetchall() == [(1,)]
    finally:
        connection.execute("DROP OWNED BY triggers_guest")
        connection.execute("DROP ROLE triggers_guest")


def test_a_read_only_transaction_stays_so(connection: psycopg.Connection) -> None:
    connection.execute("CREATE VIEW seen AS SELECT * FROM item")
    connection.execute("CREATE TRIGGER v INSTEAD OF INSERT ON seen FOR EACH ROW EXECUTE FUNCTION record()")
    with connection.transaction(), pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        connection.execute("SET TRANSACTION READ ONLY")
        connection.execute("INSERT INTO seen VALUES (1, 'x')")


def test_a_timeout_ends_the_rows(connection: psycopg.Connection) -> None:
    connection.execute("INSERT INTO item SELECT g, 'x' FROM generate_series(1, 2000) g")
    connection.execute(
        "CREATE OR REPLACE FUNCTION record() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN PERFORM count(*) FROM item; RETURN NULL; END $$"
    )
    connection.execute("SET statement_timeout = '300ms'")
    with pytest.raises(psycopg.errors.QueryCanceled):
        connection.execute("UPDATE item SET name = 'y'")
    connection.execute("RESET statement_timeout")
    assert connection.execute("SELECT count(*) FROM item WHERE name = 'y'").fetchone() == (0,)


@pytest.mark.parametrize(
    ("sql", "name"),
    [
        (
            "CREATE CONSTRAINT TRIGGER c AFTER INSERT ON item FOR EACH ROW EXECUTE FUNCTION record()",
            "CONSTRAINT TRIGGER",
        ),
        ("CREATE EVENT TRIGGER e ON ddl_command_start EXECUTE FUNCTION record()", "EVENT TRIGGER"),
        ("DROP EVENT TRIGGER e", "EVENT TRIGGER"),
        ("CREATE RULE r AS ON INSERT TO item DO NOTHING", "RULE"),
        ("ALTER TABLE item DISABLE RULE r", "Rule"),
        ("CREATE FUNCTION e() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END'", "event_trigger"),
        ("SELECT record()", "trigger functions can only be called as triggers"),
        ("ALTER TABLE item ALTER name TYPE varchar", "trigger definition"),
    ],
)
def test_what_is_refused(connection: psycopg.Connection, sql: str, name: str) -> None:
    connection.execute("CREATE TRIGGER named AFTER UPDATE OF name ON item FOR EACH ROW EXECUTE FUNCTION record()")
    with pytest.raises(psycopg.errors.FeatureNotSupported, match=name):
        connection.execute(sql.encode())


def test_disabling_all_says_what_stays(connection: psycopg.Connection) -> None:
    connection.execute("CREATE TABLE part (item int REFERENCES item)")
    notices: list[str | None] = []
    connection.add_notice_handler(lambda each: notices.append(each.message_primary))
    connection.execute("ALTER TABLE item DISABLE TRIGGER ALL")
    assert notices == ['foreign keys of "item" stay enforced: they are no triggers in gpudb']
    connection.execute("INSERT INTO item VALUES (1, 'low')")
    assert connection.execute("SELECT * FROM item").fetchall() == [(1, "low")]
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        connection.execute("INSERT INTO part VALUES (2)")


def test_a_function_in_a_condition_is_not_dropped(connection: psycopg.Connection) -> None:
    connection.execute("CREATE FUNCTION wanted(n int) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT n > 1'")
    connection.execute(
        "CREATE TRIGGER cond AFTER DELETE ON item FOR EACH ROW WHEN (wanted(old.id)) EXECUTE FUNCTION record()"
    )
    with pytest.raises(psycopg.errors.DependentObjectsStillExist) as caught:
        connection.execute("DROP FUNCTION wanted")
    assert "trigger cond on table item" in (caught.value.diag.message_detail or "")
    connection.execute("DROP FUNCTION wanted CASCADE")
    assert connection.execute("SELECT count(*) FROM pg_trigger WHERE tgname = 'cond'").fetchone() == (0,)


_BODIES = {
    "guards": "IF new.n > 3 THEN new.t := 'big'; ELSIF new.n IS NULL THEN RETURN NULL; END IF; new.n := new.n + 1; RETURN new;",
    "inserts": "INSERT INTO log VALUES (new.n, new.t || tg_op); IF new.n % 2 = 0 THEN RETURN NULL; END IF; "
    "INSERT INTO log VALUES (-new.n, to_jsonb(new)::text); RETURN new;",
    "chains": "new.n := new.n * 2; new.n := new.n + 1; IF new.n > 7 THEN new.t := new.t || new.n; END IF; "
    "IF new.t LIKE '%1' THEN new.n := 0; END IF; RETURN new;",
}


@pytest.mark.parametrize("body", _BODIES.values(), ids=_BODIES)
@pytest.mark.parametrize("timing", ["BEFORE", "AFTER"])
def test_rows_at_once_are_rows_one_by_one(connection: psycopg.Connection, body: str, timing: str) -> None:
    """A second trigger that does nothing keeps a statement from firing the first one for all rows at once."""
    connection.execute("CREATE TABLE many (n int, t text)")
    connection.execute("CREATE TABLE log (n int, t text)")
    connection.execute(f"CREATE FUNCTION body() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} END $$".encode())
    connection.execute("CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END'")
    connection.execute(f"CREATE TRIGGER b {timing} INSERT ON many FOR EACH ROW EXECUTE FUNCTION body()".encode())
    connection.execute(f"CREATE TRIGGER a {timing} INSERT ON many FOR EACH ROW EXECUTE FUNCTION nothing()".encode())
    found = []
    for action in ("ENABLE", "DISABLE"):
        connection.execute(f"ALTER TABLE many {action} TRIGGER a".encode())
        connection.execute("TRUNCATE many, log")
        connection.execute("INSERT INTO many SELECT nullif(g, 5), 't' || g FROM generate_series(1, 9) g")
        found.append([connection.execute(f"SELECT * FROM {t} ORDER BY 1, 2").fetchall() for t in ("many", "log")])
    assert found[0] == found[1]
    assert found[0][0]


def test_triggers_outlive_restarts_and_a_lost_catalog(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with gpudb.connect(folder) as connection:
        connection.execute(_AUDIT)
        connection.execute("COMMENT ON TRIGGER tidy ON item IS 'tidies'")
    (folder / "catalog.db").unlink()
    assert repair(folder).rebuilt
    with gpudb.connect(folder) as connection:
        connection.execute("INSERT INTO item VALUES (1, 'a'), (2, 'no')")
        assert connection.execute("SELECT * FROM audit").fetchall() == [("INSERT", 1, "A")]
        shown = connection.execute("SELECT tgname, obj_description(oid, 'pg_trigger') FROM pg_trigger ORDER BY 1")
        assert shown.fetchall() == [("record", None), ("tidy", "tidies")]


def test_rows_stream_into_tables_without_triggers_for_inserts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rows.csv").write_text("2,b\n3,c\n")
    with gpudb.connect() as connection:
        connection.execute(_AUDIT)
        connection.execute("DROP TRIGGER tidy ON item")
        connection.execute(
            "CREATE OR REPLACE TRIGGER record AFTER UPDATE ON item FOR EACH ROW EXECUTE FUNCTION record()"
        )
        for collects in ("changes._run_change", "domain_checks._append_with_triggers"):
            monkeypatch.setattr(f"gpudb.session.dml.{collects}", None)
        connection.execute("INSERT INTO item VALUES (1, 'a')")
        connection.execute(f"COPY item FROM '{tmp_path}/rows.csv' (FORMAT csv)")
        monkeypatch.undo()
        connection.execute("UPDATE item SET name = 'd'")
        assert connection.execute("SELECT * FROM audit ORDER BY id").fetchall() == [
            ("UPDATE", number, "d") for number in (1, 2, 3)
        ]
