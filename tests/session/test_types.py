"""User-defined types: after a restart, in transactions, and in the binary formats of COPY and the protocol."""

from __future__ import annotations

import datetime
from pathlib import Path

import psycopg
import pytest

from gpudb.errors import GpudbError
from gpudb.session.database import Database
from gpudb.session.session import Session
from tests.support import copy_outcomes
from tests.support.session_fixtures import Connect
from tests.support.sessions import fails, run, state, value


def test_an_enum_survives_a_restart_with_its_changes(tmp_path: Path) -> None:
    database = Database(tmp_path)
    session = database.session("gpudb")
    run(session, "CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TABLE t (m mood, ms mood[])")
    run(session, "INSERT INTO t VALUES ('ok', '{sad,ok}'), ('sad', NULL)")
    run(session, "ALTER TYPE mood RENAME VALUE 'ok' TO 'fine'; ALTER TYPE mood ADD VALUE 'ok' BEFORE 'sad'")
    run(session, "INSERT INTO t VALUES ('ok', '{ok,fine}')")
    session.close()
    database.close()
    database = Database(tmp_path)
    session = database.session("gpudb")
    try:
        rows = [("ok", ["ok", "fine"]), ("sad", None), ("fine", ["sad", "fine"])]
        assert run(session, "SELECT m, ms FROM t ORDER BY m") == rows
        run(session, "UPDATE t SET m = 'fine' WHERE m = 'ok'")
        assert run(session, "SELECT m, count(*) FROM t GROUP BY m ORDER BY m") == [("sad", 1), ("fine", 2)]
        assert state(session, "DROP TYPE mood") == "2BP01"
    finally:
        session.close()
        database.close()


def test_a_type_belongs_to_its_transaction(session: Session, other: Session) -> None:
    run(session, "BEGIN; CREATE TYPE fleeting AS ENUM ('a'); CREATE TABLE fleeting_t (f fleeting)")
    assert state(other, "SELECT 'a'::fleeting") == "42704"
    run(session, "INSERT INTO fleeting_t VALUES ('a'); ROLLBACK")
    assert state(session, "SELECT 'a'::fleeting") == "42704"


def test_two_sessions_that_make_one_type(session: Session, other: Session) -> None:
    run(session, "BEGIN; CREATE TYPE shared AS ENUM ('a')")
    run(other, "CREATE TYPE shared AS ENUM ('b')")
    assert state(session, "COMMIT") == "42710"
    assert value(other, "SELECT enum_first(NULL::shared)") == "b"


@pytest.mark.parametrize("form", ["text", "csv", "binary"])
def test_copy_of_enums(session: Session, form: str) -> None:
    run(session, f"CREATE TYPE e_{form} AS ENUM ('x', 'a b'); CREATE TABLE c_{form} (e e_{form}, es e_{form}[])")
    run(session, f"INSERT INTO c_{form} VALUES ('x', '{{x,NULL,a b}}'), (NULL, NULL), ('a b', '{{}}')")
    before = run(session, f"SELECT * FROM c_{form}")
    _, data = copy_outcomes.run(session, f"COPY c_{form} TO STDOUT (FORMAT {form})")
    run(session, f"TRUNCATE c_{form}")
    tag, _ = copy_outcomes.run(session, f"COPY c_{form} FROM STDIN (FORMAT {form})", data)
    assert tag == "COPY 3"
    assert run(session, f"SELECT * FROM c_{form}") == before


def test_copy_refuses_what_is_no_label(session: Session) -> None:
    run(session, "CREATE TYPE e_few AS ENUM ('x'); CREATE TABLE c_few (e e_few)")
    with pytest.raises(Exception, match='invalid input value for enum e_few: "y"'):
        copy_outcomes.run(session, "COPY c_few FROM STDIN", b"x\ny\n")


@pytest.mark.parametrize("binary", [False, True])
def test_enums_through_psycopg(connect: Connect, binary: bool) -> None:
    """psycopg looks up a type in pg_type and pg_enum, and sends and reads its labels."""
    from enum import Enum

    from psycopg.types.enum import EnumInfo, register_enum

    class Size(Enum):
        small = 1
        large = 2

    name = f"size_{'b' if binary else 't'}"
    connection = connect()
    connection.execute(f"CREATE TYPE {name} AS ENUM ('small', 'large')")
    info = EnumInfo.fetch(connection, name)
    assert info is not None
    register_enum(info, connection, Size)
    connection.execute(f"CREATE TABLE {name}_t (s {name}, ss {name}[])")
    insert = f"INSERT INTO {name}_t VALUES (%{'b' if binary else 't'}, %{'b' if binary else 't'})"
    connection.execute(insert, (Size.large, [Size.small, Size.large]))
    cursor = connection.execute(f"SELECT s, ss FROM {name}_t WHERE s = %s", (Size.large,), binary=binary)
    assert cursor.fetchall() == [(Size.large, [Size.small, Size.large])]
    with pytest.raises(psycopg.errors.InvalidTextRepresentation):
        connection.execute(f"SELECT %s::text::{name}", ("medium",))


def test_a_domain_survives_a_restart(tmp_path: Path) -> None:
    database = Database(tmp_path)
    session = database.session("gpudb")
    run(session, "CREATE DOMAIN pos AS numeric DEFAULT 7 CHECK (VALUE > 0); CREATE TABLE t (n integer, p pos)")
    run(session, "INSERT INTO t (n) VALUES (1); INSERT INTO t VALUES (2, 2.50)")
    session.close()
    database.close()
    database = Database(tmp_path)
    session = database.session("gpudb")
    try:
        run(session, "INSERT INTO t (n) VALUES (3)")
        assert run(session, "SELECT p::text FROM t ORDER BY n") == [("7",), ("2.50",), ("7",)]
        assert state(session, "UPDATE t SET p = -p") == "23514"
    finally:
        session.close()
        database.close()


@pytest.mark.parametrize(("rows", "wrong"), [("1\t2\n", None), ("1\t0\n", "23514"), ("1\t\\N\n", "23502")])
def test_copy_holds_rows_against_domains(session: Session, rows: str, wrong: str | None) -> None:
    run(session, "DROP TABLE IF EXISTS d_copy; DROP DOMAIN IF EXISTS d_pos CASCADE")
    run(session, "CREATE DOMAIN d_pos AS integer NOT NULL DEFAULT 5 CHECK (VALUE > 0)")
    run(session, "CREATE TABLE d_copy (n integer, p d_pos)")
    if wrong is None:
        assert copy_outcomes.run(session, "COPY d_copy FROM STDIN", rows.encode())[0] == "COPY 1"
        assert copy_outcomes.run(session, "COPY d_copy (n) FROM STDIN", b"2\n")[0] == "COPY 1"
        assert run(session, "SELECT n, p FROM d_copy ORDER BY n") == [(1, 2), (2, 5)]
        return
    with pytest.raises(GpudbError) as caught:
        copy_outcomes.run(session, "COPY d_copy FROM STDIN", rows.encode())
    assert caught.value.sqlstate == wrong
    assert value(session, "SELECT count(*) FROM d_copy") == 0


def test_domains_in_files_that_are_loaded(session: Session, tmp_path: Path) -> None:
    run(session, "CREATE DOMAIN d_low AS integer CHECK (VALUE < 10); CREATE TABLE d_load (p d_low)")
    (tmp_path / "a.csv").write_text("3\n12\n")
    assert state(session, f"SELECT load_data('d_load', '{tmp_path}/a.csv')") == "23514"
    assert value(session, "SELECT count(*) FROM d_load") == 0


def test_parameters_become_domains(connect: Connect) -> None:
    connection = connect()
    connection.execute("CREATE DOMAIN d_even AS integer CHECK (VALUE % 2 = 0)")
    connection.execute("CREATE TABLE d_evens (e d_even)")
    connection.execute("INSERT INTO d_evens VALUES (%s)", (4,))
    with pytest.raises(psycopg.errors.CheckViolation, match='violates check constraint "d_even_check"'):
        connection.execute("INSERT INTO d_evens VALUES (%s)", (5,))
    assert connection.execute("SELECT e FROM d_evens WHERE e = %b", (4,), binary=True).fetchall() == [(4,)]


_ITEM = "ROW('n', ROW(1, 2.50), '{a,NULL}', 'x', 1.500, '1 day', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11')"
_COMPOSITES = """
CREATE TYPE {0}_in AS (x integer, y numeric(8,2));
CREATE TYPE {0}_e AS ENUM ('x', 'y');
CREATE TYPE {0}_out AS (name text, at {0}_in, tags text[], e {0}_e, n numeric, iv interval, u uuid);
CREATE TABLE {0} (k integer, o {0}_out, os {0}_in[]);
INSERT INTO {0} VALUES (1, {1}, ARRAY[ROW(1, 2), NULL]::{0}_in[]), (2, NULL, NULL), (3, ROW(), '{{}}')
"""


def _composites(session: Session, name: str) -> None:
    statements = _COMPOSITES.format(name, _ITEM).replace("ROW()", "ROW(NULL, NULL, NULL, 'y', NULL, NULL, NULL)")
    run(session, statements)


def test_rows_survive_a_restart(tmp_path: Path) -> None:
    database = Database(tmp_path)
    session = database.session("gpudb")
    _composites(session, "kept")
    before = run(session, "SELECT k, o::text, os::text, (o).at::text, (o).n::text FROM kept ORDER BY k")
    run(session, "ALTER TABLE kept ADD COLUMN more kept_in DEFAULT ROW(7, 8)")
    session.close()
    database.close()
    database = Database(tmp_path)
    session = database.session("gpudb")
    try:
        assert run(session, "SELECT k, o::text, os::text, (o).at::text, (o).n::text FROM kept ORDER BY k") == before
        run(session, "ALTER TYPE kept_e RENAME VALUE 'x' TO 'z'")
        assert value(session, "SELECT (o).e FROM kept WHERE k = 1") == "z"
        run(session, "UPDATE kept SET o = NULL WHERE k = 1")
        assert run(session, "SELECT k, (more).y::text FROM kept WHERE o IS NULL ORDER BY k") == [
            (1, "8.00"),
            (2, "8.00"),
        ]
        assert state(session, "DROP TYPE kept_in") == "2BP01"
    finally:
        session.close()
        database.close()


@pytest.mark.parametrize("form", ["text", "csv", "binary"])
def test_copy_of_rows(session: Session, form: str) -> None:
    name = f"rows_{form}"
    _composites(session, name)
    before = run(session, f"SELECT {name}::text FROM {name}")
    _, data = copy_outcomes.run(session, f"COPY {name} TO STDOUT (FORMAT {form})")
    run(session, f"TRUNCATE {name}")
    assert copy_outcomes.run(session, f"COPY {name} FROM STDIN (FORMAT {form})", data)[0] == "COPY 3"
    assert run(session, f"SELECT {name}::text FROM {name}") == before


@pytest.mark.parametrize("binary", [False, True])
def test_rows_through_psycopg(connect: Connect, binary: bool) -> None:
    from psycopg.types.composite import CompositeInfo, register_composite

    name = f"pair_{'b' if binary else 't'}"
    connection = connect()
    connection.execute(f"CREATE TYPE {name} AS (a integer, b text)")
    info = CompositeInfo.fetch(connection, name)
    assert info is not None
    register_composite(info, connection)
    assert info.python_type is not None
    pair = info.python_type(5, "x, y")
    connection.execute(f"CREATE TABLE {name}_t (p {name}, ps {name}[])")
    connection.execute(f"INSERT INTO {name}_t VALUES (%s, %s)", (pair, [pair, pair]))
    cursor = connection.execute(f"SELECT p, ps, ROW(1, 'a'::text) FROM {name}_t WHERE p = %s", (pair,), binary=binary)
    assert cursor.fetchall() == [(pair, [pair, pair], (1, "a") if binary else ("1", "a"))]


def test_rows_in_python() -> None:
    """The embedded API returns tuples, and structs in Arrow."""
    import gpudb

    with gpudb.connect() as db:
        db.execute("CREATE TYPE spot AS (x integer, at date)")
        relation = db.sql("SELECT ROW(1, '2024-02-29')::spot AS s, ARRAY[ROW(2, NULL)::spot] AS l, NULL::spot AS n")
        day = datetime.date(2024, 2, 29)
        assert relation.fetchall() == [((1, day), [(2, None)], None)]
        assert relation.arrow().to_pylist() == [{"s": {"x": 1, "at": day}, "l": [{"x": 2, "at": None}], "n": None}]


_GRID = "CREATE TABLE {0} (m integer[][], t text[][][], n numeric[][]); INSERT INTO {0} VALUES" + (
    " ('{{{{1,2}},{{3,NULL}}}}', '{{{{{{a}}}},{{{{\"b c\"}}}}}}', '{{{{1.50,2}}}}'), (NULL, '{{}}', NULL), ('{{}}', NULL, '{{{{7}}}}')"
)


def test_arrays_of_several_dimensions_survive_a_restart(tmp_path: Path) -> None:
    database = Database(tmp_path)
    session = database.session("gpudb")
    run(session, _GRID.format("grid"))
    before = run(session, "SELECT grid::text FROM grid")
    session.close()
    database.close()
    database = Database(tmp_path)
    session = database.session("gpudb")
    try:
        assert run(session, "SELECT grid::text FROM grid") == before
        assert run(session, "SELECT m FROM grid WHERE m[2][1] = 3") == [([[1, 2], [3, None]],)]
    finally:
        session.close()
        database.close()


@pytest.mark.parametrize("form", ["text", "csv", "binary"])
def test_copy_of_arrays_of_several_dimensions(session: Session, form: str) -> None:
    name = f"grid_{form}"
    run(session, _GRID.format(name))
    before = run(session, f"SELECT {name}::text FROM {name}")
    _, data = copy_outcomes.run(session, f"COPY {name} TO STDOUT (FORMAT {form})")
    run(session, f"TRUNCATE {name}")
    assert copy_outcomes.run(session, f"COPY {name} FROM STDIN (FORMAT {form})", data)[0] == "COPY 3"
    assert run(session, f"SELECT {name}::text FROM {name}") == before
    if form == "text":
        with pytest.raises(GpudbError) as caught:
            copy_outcomes.run(session, f"COPY {name} FROM STDIN", b"{1,2}\t\\N\t\\N\n")
        assert caught.value.sqlstate == "0A000"


@pytest.mark.parametrize("binary", [False, True])
def test_arrays_of_several_dimensions_through_psycopg(connect: Connect, binary: bool) -> None:
    connection = connect()
    name = f"wired_{'b' if binary else 't'}"
    connection.execute(f"CREATE TABLE {name} (m integer[][])")
    connection.execute(f"INSERT INTO {name} VALUES (%{'b' if binary else 't'})", ([[1, 2], [3, 4]],))
    cursor = connection.execute(f"SELECT m, m[1:1], ARRAY[['x']] FROM {name}", binary=binary)
    assert cursor.fetchall() == [([[1, 2], [3, 4]], [[1, 2]], [["x"]])]


def test_a_type_takes_its_functions_along(session: Session) -> None:
    run(session, "CREATE TYPE taken AS ENUM ('a'); CREATE TABLE takes (k int, t taken)")
    run(session, "CREATE FUNCTION taking(taken) RETURNS int LANGUAGE sql AS 'SELECT 1'")
    error = fails(session, "DROP TYPE taken")
    assert error.sqlstate == "2BP01"
    assert {"function taking(taken) depends on type taken", "column t of table takes depends on type taken"} == set(
        (error.detail or "").split("\n")
    )
    run(session, "DROP TYPE taken CASCADE")
    assert run(session, "SELECT proname FROM pg_proc WHERE proname = 'taking'") == []
