"""A session's state: settings, temporary tables, cursors, prepared statements; and the end of each."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from gpudb.config.database import EMBEDDED
from gpudb.errors import GpudbError
from gpudb.session.database import Database
from gpudb.session.session import Session
from tests.support.sessions import fails, run, state, tags, value


@pytest.fixture
def numbers(session: Session) -> Iterator[None]:
    run(session, "CREATE TABLE numbers AS SELECT i AS n FROM generate_series(1, 100) i")
    yield
    run(session, "DROP TABLE IF EXISTS numbers")


# ---- settings


def test_set_local_ends_with_its_transaction(session: Session) -> None:
    run(session, "SET TimeZone TO 'Asia/Tokyo'")
    run(session, "BEGIN; SET LOCAL TimeZone TO 'Europe/Rome'")
    assert value(session, "SHOW TimeZone") == "Europe/Rome"
    assert value(session, "SELECT timestamptz '2024-07-01 00:00+00'::text") == "2024-07-01 02:00:00+02"
    run(session, "COMMIT")
    assert value(session, "SHOW TimeZone") == "Asia/Tokyo"
    run(session, "BEGIN; SET LOCAL TimeZone TO 'UTC'; SET TimeZone TO 'Europe/Paris'; COMMIT")
    assert value(session, "SHOW TimeZone") == "Europe/Paris"


def test_set_local_outside_a_block_warns(session: Session) -> None:
    run(session, "SET LOCAL search_path = nowhere")
    assert [(n.severity, n.sqlstate) for n in session.take_notices()] == [("WARNING", "25P01")]
    assert value(session, "SHOW search_path") == '"$user", public'


def test_rollback_undoes_set(session: Session) -> None:
    run(session, "SET application_name = 'before'")
    run(session, "BEGIN; SET application_name = 'inside'; SET statement_timeout = '5s'")
    assert value(session, "SHOW application_name") == "inside"
    run(session, "ROLLBACK")
    assert value(session, "SHOW application_name") == "before"
    assert value(session, "SHOW statement_timeout") == "0"
    assert state(session, "SET application_name = 'lost'; SELECT 1 / 0") == "22012"
    assert value(session, "SHOW application_name") == "before"
    run(session, "BEGIN; SET application_name = 'kept'; COMMIT")
    assert value(session, "SHOW application_name") == "kept"


def test_savepoints_undo_set(session: Session) -> None:
    run(session, "SET application_name = 'a'")
    run(session, "BEGIN; SET application_name = 'b'; SAVEPOINT s; SET application_name = 'c'; ROLLBACK TO s")
    assert value(session, "SHOW application_name") == "b"
    run(session, "COMMIT")
    assert value(session, "SHOW application_name") == "b"


def test_settings_that_do_not_exist_or_have_bad_values(session: Session) -> None:
    assert state(session, "SET no_such_setting = 1") == "42704"
    assert state(session, "SHOW no_such_setting") == "42704"
    assert state(session, "SET statement_timeout = 'soon'") == "22023"
    assert state(session, "SET TimeZone = 'Mars/Olympus'") == "22023"
    assert state(session, "SET server_version = '17'") == "55P02"
    run(session, "SET custom.name = 'any'")
    assert value(session, "SHOW custom.name") == "any"


def test_sessions_do_not_share_settings(session: Session, other: Session) -> None:
    run(session, "SET search_path = elsewhere; SET TimeZone = 'Asia/Tokyo'")
    assert value(other, "SHOW search_path") == '"$user", public'
    assert value(other, "SHOW TimeZone") != "Asia/Tokyo"
    run(session, "RESET ALL")
    assert value(session, "SHOW search_path") == '"$user", public'


def test_the_same_text_means_what_each_sessions_settings_say(session: Session, other: Session) -> None:
    """Plans are cached by text, but not across changes of their meaning."""
    run(
        session,
        "CREATE SCHEMA one; CREATE SCHEMA two; CREATE TABLE one.t AS SELECT 1 AS a; CREATE TABLE two.t AS SELECT 'x' AS a",
    )
    run(session, "SET search_path = one; SET TimeZone = 'UTC'")
    run(other, "SET search_path = two; SET TimeZone = 'Asia/Tokyo'")
    for _ in range(2):
        assert value(session, "SELECT a FROM t") == 1
        assert value(other, "SELECT a FROM t") == "x"
        assert value(session, "SELECT extract(hour FROM timestamptz '2024-01-01 00:00+00')::int") == 0
        assert value(other, "SELECT extract(hour FROM timestamptz '2024-01-01 00:00+00')::int") == 9
    run(session, "DROP SCHEMA one CASCADE; DROP SCHEMA two CASCADE")


# ---- temporary tables


def test_temporary_tables_are_their_sessions_own(database: Database, session: Session) -> None:
    own = database.session("gpudb")
    run(own, "CREATE TEMP TABLE scratch (a int); INSERT INTO scratch VALUES (1)")
    assert value(own, "SELECT a FROM scratch") == 1
    assert state(session, "SELECT * FROM scratch") == "42P01"
    run(session, "CREATE TEMP TABLE scratch AS SELECT 'other' AS a")
    assert value(session, "SELECT a FROM scratch") == "other"
    assert value(own, "SELECT a FROM scratch") == 1
    own.close()
    assert value(session, "SELECT a FROM scratch") == "other"
    assert not any(
        schema.startswith("pg_temp") and schema != session.temporary_schema
        for schema, _ in database.store.catalog().relations
    )


def test_temporary_routines_are_their_sessions_own(database: Database, session: Session, other: Session) -> None:
    own = database.session("gpudb")
    run(own, "CREATE FUNCTION pg_temp.passing() RETURNS integer LANGUAGE sql AS 'SELECT 1'")
    run(own, "CREATE FUNCTION pg_temp.twice(integer) RETURNS integer LANGUAGE plpgsql AS 'BEGIN RETURN 2 * $1; END'")
    assert value(own, "SELECT pg_temp.twice(pg_temp.passing())") == 2
    assert state(session, "SELECT pg_temp.passing()") == "42883"
    run(session, "CREATE FUNCTION pg_temp.passing() RETURNS integer LANGUAGE sql AS 'SELECT 7'")
    assert (value(session, "SELECT pg_temp.passing()"), value(own, "SELECT pg_temp.passing()")) == (7, 1)
    own.close()
    assert value(session, "SELECT pg_temp.passing()") == 7
    assert value(other, "SELECT count(*) FROM pg_proc WHERE proname IN ('passing', 'twice')") == 1
    run(session, "DISCARD TEMP")
    assert not database.store.catalog().routines


def test_a_temporary_table_hides_a_permanent_one(session: Session, other: Session) -> None:
    run(session, "CREATE TABLE hidden AS SELECT 'permanent' AS a")
    run(session, "CREATE TEMP TABLE hidden AS SELECT 'temporary' AS a")
    assert value(session, "SELECT a FROM hidden") == "temporary"
    assert value(session, "SELECT a FROM public.hidden") == "permanent"
    assert value(other, "SELECT a FROM hidden") == "permanent"
    run(session, "DROP TABLE hidden")
    assert value(session, "SELECT a FROM hidden") == "permanent"
    run(session, "DROP TABLE hidden")


def test_discard_drops_temporary_tables(session: Session) -> None:
    run(session, "CREATE TEMP TABLE scratch (a int)")
    run(session, "DISCARD TEMP")
    assert state(session, "SELECT * FROM scratch") == "42P01"
    run(session, "CREATE TEMP TABLE scratch (a int); PREPARE p AS SELECT 1")
    run(session, "SET application_name = 'x'")
    run(session, "DISCARD ALL")
    assert state(session, "SELECT * FROM scratch") == "42P01"
    assert state(session, "EXECUTE p") == "26000"


def test_rollback_takes_a_temporary_table_with_it(session: Session) -> None:
    run(session, "BEGIN; CREATE TEMP TABLE scratch (a int); ROLLBACK")
    assert state(session, "SELECT * FROM scratch") == "42P01"


# ---- cursors


@pytest.mark.usefixtures("numbers")
def test_cursors(session: Session) -> None:
    run(session, "BEGIN; DECLARE c CURSOR FOR SELECT n FROM numbers ORDER BY n")
    assert run(session, "FETCH 3 FROM c") == [(1,), (2,), (3,)]
    assert run(session, "FETCH c") == [(4,)]
    assert tags(session, "MOVE 5 IN c") == ["MOVE 5"]
    assert run(session, "FETCH FORWARD 2 FROM c") == [(10,), (11,)]
    assert len(run(session, "FETCH ALL FROM c")) == 89
    assert run(session, "FETCH NEXT FROM c") == []
    assert run(session, "FETCH BACKWARD 2 FROM c") == [(100,), (99,)]
    run(session, "DECLARE ahead NO SCROLL CURSOR FOR SELECT n FROM numbers; FETCH 2 FROM ahead")
    assert state(session, "FETCH BACKWARD FROM ahead") == "55000"
    run(session, "ROLLBACK")
    assert state(session, "FETCH c") == "34000"


@pytest.mark.usefixtures("numbers")
def test_cursors_end_with_their_transaction_unless_held(session: Session) -> None:
    assert state(session, "DECLARE c CURSOR FOR SELECT 1") == "25P01"
    run(
        session,
        "BEGIN; DECLARE plain CURSOR FOR SELECT n FROM numbers; DECLARE held CURSOR WITH HOLD FOR SELECT n FROM numbers ORDER BY n; COMMIT",
    )
    assert state(session, "FETCH plain") == "34000"
    run(session, "DROP TABLE numbers")
    assert run(session, "FETCH 2 FROM held") == [(1,), (2,)]
    assert run(session, "FETCH 2 FROM held") == [(3,), (4,)]
    run(session, "CLOSE held")
    assert state(session, "FETCH held") == "34000"
    run(session, "BEGIN; DECLARE held CURSOR WITH HOLD FOR SELECT 1; ROLLBACK")
    assert state(session, "FETCH held") == "34000"


@pytest.mark.usefixtures("numbers")
def test_a_cursor_reads_what_was_there_when_it_was_declared(session: Session) -> None:
    run(session, "BEGIN; DECLARE c CURSOR FOR SELECT count(*) FROM numbers; DELETE FROM numbers WHERE n > 10")
    assert value(session, "SELECT count(*) FROM numbers") == 10
    assert value(session, "FETCH c") == 100
    assert state(session, "DECLARE c CURSOR FOR SELECT 1") == "42P03"
    run(session, "ROLLBACK")


# ---- prepared statements and cached plans


@pytest.mark.usefixtures("numbers")
def test_prepared_statements(session: Session) -> None:
    run(session, "PREPARE above (int) AS SELECT count(*) FROM numbers WHERE n > $1")
    assert value(session, "EXECUTE above(90)") == 10
    assert value(session, "EXECUTE above('99')") == 1
    assert state(session, "EXECUTE above") == "42601"
    assert state(session, "EXECUTE above('x')") == "22P02"
    assert state(session, "PREPARE above AS SELECT 1") == "42P05"
    run(session, "DEALLOCATE above")
    assert state(session, "EXECUTE above(1)") == "26000"


def test_a_prepared_statement_keeps_its_result_type(session: Session) -> None:
    """A prepared statement is refused once its result columns change, and runs again when they are back."""
    run(session, "CREATE TABLE shape (a int); INSERT INTO shape VALUES (1)")
    run(session, "PREPARE p AS SELECT * FROM shape")
    prepared = session.prepare("SELECT * FROM shape")
    session.sync()
    for change, ok in (
        ("ADD COLUMN b text", False),
        ("DROP COLUMN b", True),
        ("ALTER COLUMN a TYPE bigint", False),
        ("ALTER COLUMN a TYPE integer", True),
        ("RENAME COLUMN a TO z", False),
    ):
        run(session, f"ALTER TABLE shape {change}")
        if ok:
            assert run(session, "EXECUTE p") == [(1,)]
            session.execute(prepared).close()
            session.sync()
            continue
        error = fails(session, "EXECUTE p")
        assert (error.sqlstate, error.message) in {
            ("0A000", "cached plan must not change result type"),
        }
        with pytest.raises(GpudbError) as caught:
            session.execute(prepared)
        session.sync()
        assert caught.value.sqlstate == "0A000"
    run(session, "DEALLOCATE p; DROP TABLE shape")


def test_a_rolled_back_prepare_stays(session: Session) -> None:
    """Prepared statements are not part of a transaction."""
    run(session, "BEGIN; PREPARE stays AS SELECT 7; ROLLBACK")
    assert value(session, "EXECUTE stays") == 7
    run(session, "DEALLOCATE ALL")


@pytest.mark.usefixtures("numbers")
def test_prepared_statements_follow_definitions(session: Session, other: Session) -> None:
    run(session, "PREPARE p AS SELECT count(*), max(n) FROM numbers")
    assert run(session, "EXECUTE p") == [(100, 100)]
    run(other, "INSERT INTO numbers VALUES (500)")
    assert run(session, "EXECUTE p") == [(101, 500)]
    run(other, "DROP TABLE numbers; CREATE TABLE numbers (x text, n int); INSERT INTO numbers VALUES ('a', 1)")
    assert run(session, "EXECUTE p") == [(1, 1)]
    run(other, "DROP TABLE numbers")
    assert state(session, "EXECUTE p") == "42P01"
    run(session, "DEALLOCATE ALL")


@pytest.mark.usefixtures("numbers")
def test_kept_plans_follow_definitions(session: Session, other: Session, database: Database) -> None:
    sql = "SELECT * FROM numbers WHERE n <= 2 ORDER BY n"
    assert run(session, sql) == [(1,), (2,)]
    hits = database.plans.hits
    assert run(other, sql) == [(1,), (2,)]
    assert database.plans.hits > hits
    # The statement inside EXPLAIN does not start with its own text.
    for _ in range(2):
        explained = session.prepare(f"EXPLAIN ANALYZE {sql}")
        assert explained.columns is not None
        assert explained.columns[0].name == "QUERY PLAN"
        run(session, f"EXPLAIN ANALYZE {sql}")
    run(other, "ALTER TABLE numbers ADD COLUMN extra text DEFAULT 'e'")
    assert run(session, sql) == [(1, "e"), (2, "e")]
    run(other, "ALTER TABLE numbers RENAME COLUMN n TO m")
    assert fails(session, sql).sqlstate == "42703"
    run(other, "ALTER TABLE numbers RENAME COLUMN m TO n; ALTER TABLE numbers ALTER COLUMN n TYPE text")
    assert fails(session, sql).sqlstate == "42883"
    run(session, "CREATE OR REPLACE VIEW seen AS SELECT 1 AS a")
    assert value(session, "SELECT a FROM seen") == 1
    run(session, "CREATE OR REPLACE VIEW seen AS SELECT 2 AS a")
    assert value(session, "SELECT a FROM seen") == 2
    run(session, "DROP VIEW seen; CREATE TABLE seen (a int)")
    assert run(session, "SELECT a FROM seen") == []
    run(session, "DROP TABLE seen")


def test_a_repeated_statement_is_not_parsed_again(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    sql = "SELECT $1::int AS again"
    first = session.prepare(sql)
    session.sync()
    assert value(session, "SELECT 'again'") == "again"

    def parsed(text: str) -> None:
        raise AssertionError(f"parsed again: {text}")

    monkeypatch.setattr("gpudb.session.session.parse_statements", parsed)
    kept = session.prepare(sql)
    assert kept.columns is first.columns
    batches = [batch.to_pylist() for batch in session.execute(kept, (7,)).batches]
    session.sync()
    assert batches == [[{"c1": 7}]]
    assert value(session, "SELECT 'again'") == "again"


def test_the_latest_plan_is_found_without_the_cache(
    session: Session, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(session, "CREATE TABLE latest (a int)")
    sql = "SELECT count(*) FROM latest"
    assert [value(session, sql), value(session, sql)] == [0, 0]
    with monkeypatch.context() as patched:
        patched.setattr(database.plans, "get", None)
        assert value(session, sql) == 0
    run(session, "DROP TABLE latest; CREATE TABLE latest AS SELECT 1 AS b, 2 AS c")
    assert value(session, sql) == 1
    run(session, "SET search_path = nowhere")
    assert state(session, sql) == "42P01"
    run(session, "RESET search_path; DROP TABLE latest")


def test_plans_within_a_transaction_are_its_own(session: Session, other: Session) -> None:
    sql = "SELECT * FROM shifting"
    run(session, "CREATE TABLE shifting AS SELECT 1 AS a")
    run(session, "BEGIN; ALTER TABLE shifting ADD COLUMN b int DEFAULT 2")
    assert run(session, sql) == [(1, 2)]
    assert run(other, sql) == [(1,)]
    run(session, "ROLLBACK")
    assert run(session, sql) == [(1,)]
    run(session, "DROP TABLE shifting")


def test_parameters_are_bound_anew(session: Session) -> None:
    prepared = session.prepare("SELECT $1::int + 1 AS a, $2::text AS b")
    for number, text in ((1, "x"), (None, "y"), (41, None)):
        result = session.execute(prepared, (number, text))
        rows = [row for batch in result.batches for row in zip(*(c.to_pylist() for c in batch.columns), strict=True)]
        result.close()
        session.sync()
        assert rows == [(None if number is None else number + 1, text)]


def test_now_is_not_kept(session: Session) -> None:
    """A cached plan does not freeze the time of its creation."""
    first, second = value(session, "SELECT clock_timestamp()"), value(session, "SELECT clock_timestamp()")
    assert second > first
    assert value(session, "SELECT now()") < value(session, "SELECT now()")
    run(session, "BEGIN")
    assert value(session, "SELECT now()") == value(session, "SELECT now()")
    run(session, "COMMIT")


# ---- views


def test_a_view_keeps_its_columns(session: Session) -> None:
    """`*` in a view is expanded when the view is created."""
    run(
        session,
        "CREATE TABLE one (a int, b int); INSERT INTO one VALUES (1, 2); CREATE TABLE two AS SELECT 1 AS a, 9 AS z",
    )
    run(session, "CREATE VIEW plain AS SELECT * FROM one; CREATE VIEW joined AS SELECT * FROM one JOIN two USING (a)")
    run(session, "CREATE VIEW over_views AS SELECT x.*, y.z FROM plain x, (SELECT * FROM joined) y")
    run(session, "ALTER TABLE one ADD COLUMN c int DEFAULT 3")
    assert run(session, "SELECT * FROM plain") == [(1, 2)]
    assert run(session, "SELECT * FROM joined") == [(1, 2, 9)]
    assert run(session, "SELECT * FROM over_views") == [(1, 2, 9)]
    assert run(session, "SELECT * FROM one") == [(1, 2, 3)]
    run(session, "DROP TABLE one, two CASCADE")


@pytest.mark.usefixtures("numbers")
def test_explain_has_the_parameters_of_what_it_explains(session: Session) -> None:
    sql = "SELECT n FROM numbers WHERE n < $1 AND n::text = $2"
    prepared = session.prepare(f"EXPLAIN {sql}")
    assert [each.name for each in prepared.parameters] == ["int4", "text"]
    shown = [row for batch in session.execute(prepared, (3, "1")).batches for row in batch.column(0).to_pylist()]
    assert shown[-1] == "Engine: cpu"
    prepared = session.prepare(f"EXPLAIN (ANALYZE, FORMAT json) {sql}")
    assert prepared.columns is not None
    assert prepared.columns[0].type.name == "json"
    (batch,) = session.execute(prepared, (3, "1")).batches
    (plan,) = json.loads(batch.column(0)[0].as_py())
    assert plan["Engine"] == "cpu"
    assert plan["Planning Time"] > 0 < plan["Execution Time"]
    assert fails(session, f"EXPLAIN {sql}").sqlstate == "42P02"
    run(session, f"PREPARE few(bigint, text) AS {sql}")
    assert run(session, "EXPLAIN EXECUTE few(3, '1')")[-1] == ("Engine: cpu",)
    assert run(session, "EXPLAIN ANALYZE EXECUTE few(3, '1')")[-1][0].startswith("Execution Time: ")
    assert fails(session, "EXPLAIN EXECUTE few(3)").sqlstate == "42601"
    assert fails(session, "EXPLAIN EXECUTE none").sqlstate == "26000"


def test_explain_analyze_tells_the_loading_of_tables_apart(session: Session) -> None:
    run(session, "CREATE TABLE read_anew AS SELECT n FROM generate_series(1, 1000) n")
    sql = "EXPLAIN (ANALYZE, FORMAT json) SELECT sum(n) FROM read_anew"
    first, second = (json.loads(run(session, sql)[0][0])[0] for _ in range(2))
    assert list(first)[-3:] == ["Planning Time", "Loading Time", "Execution Time"]
    assert 0 < first["Loading Time"] < first["Execution Time"]
    # What is in memory is not loaded again, and no engine without kernels compiles.
    assert list(second)[-2:] == ["Planning Time", "Execution Time"]
    assert not {"Loading Time", "Compiling Time"} & set(second)
    run(session, "DROP TABLE read_anew")


def test_discard_all_closes_cursors(session: Session) -> None:
    run(session, "BEGIN; DECLARE kept CURSOR WITH HOLD FOR SELECT 1; COMMIT")
    assert run(session, "FETCH kept") == [(1,)]
    run(session, "DISCARD ALL")
    assert fails(session, "FETCH kept").sqlstate == "34000"


def test_max_connections_are_those_that_were_asked_for() -> None:
    with contextlib.closing(Database(None, replace(EMBEDDED, max_connections=7))) as database:
        session = database.session("gpudb")
        assert run(session, "SHOW max_connections") == [("7",)]
        assert run(session, "SELECT setting FROM pg_settings WHERE name = 'max_connections'") == [("7",)]
        assert fails(session, "SET max_connections = 9").sqlstate == "55P02"
        session.close()


def test_addresses_without_a_network(session: Session) -> None:
    sql = "SELECT inet_client_addr(), inet_client_port(), inet_server_addr(), inet_server_port()"
    assert run(session, sql) == [(None, None, None, None)]
    assert run(session, f"{sql}, relname FROM pg_class WHERE relname = 'pg_type'") == [
        (None, None, None, None, "pg_type")
    ]


def test_a_statement_that_is_not_there_is_refused_by_its_keywords(session: Session) -> None:
    for sql, name in (
        ("/* a comment */ SECURITY LABEL ON TABLE t IS NULL", "SECURITY LABEL"),
        ("-- and another\nCREATE PUBLICATION p", "CREATE PUBLICATION"),
    ):
        error = fails(session, sql)
        assert (error.sqlstate, error.message) == ("0A000", f"{name} is not supported")


def test_explain_takes_buffers(session: Session) -> None:
    plain = run(session, "EXPLAIN SELECT 1")
    assert run(session, "EXPLAIN (BUFFERS) SELECT 1") == plain
    assert len(run(session, "EXPLAIN (ANALYZE, BUFFERS) SELECT 1")) == len(run(session, "EXPLAIN ANALYZE SELECT 1"))
