"""COPY FROM and load_data by processes: the rows, their order and the errors are those of the server alone."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpudb.errors import GpudbError
from gpudb.session.database import Database
from gpudb.session.session import Session
from gpudb.storage.load.loader import BATCH_ROWS
from tests.session.test_copy_from import CSV_CASES, TEXT_CASES, TYPED_CASES
from tests.support.copy_outcomes import on_gpudb, run
from tests.support.load_processes import list_processes, open_database
from tests.support.store_tables import files_under

ROWS = 60_000
"""As lines of text they are several blocks."""


@pytest.fixture(scope="module")
def apart() -> Iterator[Database]:
    """A database whose loads are read by processes."""
    made = open_database()
    yield made
    made.close()


@pytest.fixture(scope="module")
def alone() -> Iterator[Database]:
    """A database that reads loads itself."""
    made = open_database(processes=0)
    yield made
    made.close()


@pytest.fixture
def sessions(apart: Database, alone: Database) -> Iterator[tuple[Session, Session]]:
    """Sessions of both databases, whose table `t` goes afterwards."""
    made = apart.session("gpudb"), alone.session("gpudb")
    yield made
    for session in made:
        session.sync()
        run(session, "DROP TABLE IF EXISTS t, rejects; DROP DOMAIN IF EXISTS even; DROP SEQUENCE IF EXISTS numbers")
        session.close()


def _lines(rows: int = ROWS) -> list[bytes]:
    """Lines of csv: a number, a text with quotes and line breaks in some, a decimal and a day."""
    found = []
    for number in range(rows):
        text = (
            f'"row, ""{number}""\n{number}"'
            if number % 1000 == 500
            else f"row {number} of so many that are made for a test"
        )
        found.append(
            f"{number},{text},{number * 7 % 1000}.{number % 100:02d},20{number % 90 + 10}-01-{number % 28 + 1:02d}\n"
        )
    return [line.encode() for line in found]


def _outcome(session: Session, sql: str, data: bytes = b"") -> tuple[str, bytes, tuple[object, ...]]:
    """Runs a statement; returns its tag, its output, and what an error says."""
    try:
        return (*run(session, sql, data, 1 << 20), ())
    except GpudbError as error:
        session.sync()
        return "", b"", (error.sqlstate, error.message, error.detail, error.hint, error.where)


def _same(sessions: tuple[Session, Session], sql: str, data: bytes = b"") -> tuple[str, bytes, tuple[object, ...]]:
    """Runs a statement in both sessions; returns the outcome, which is the same."""
    apart, alone = (_outcome(session, sql, data) for session in sessions)
    assert apart == alone
    return apart


@pytest.mark.parametrize("name", [*CSV_CASES, *TEXT_CASES])
def test_small_data(apart: Database, alone: Database, name: str) -> None:
    setup, copy, data = CSV_CASES[name] if name in CSV_CASES else TEXT_CASES[name]
    assert on_gpudb(apart, setup, copy, data) == on_gpudb(alone, setup, copy, data)
    assert list_processes()


@pytest.mark.parametrize("name", TYPED_CASES)
def test_values_of_every_type(apart: Database, alone: Database, name: str) -> None:
    """As text, and again in the binary format as they were written."""
    type_name, data = TYPED_CASES[name]
    setup = f"CREATE TABLE t (a {type_name})"
    seen = on_gpudb(apart, setup, "COPY t FROM STDIN", data)
    assert seen == on_gpudb(alone, setup, "COPY t FROM STDIN", data)
    if seen.sqlstate:
        return
    session = alone.session("gpudb")
    run(session, setup)
    run(session, "COPY t FROM STDIN", data)
    tag, packed = run(session, "COPY t TO STDOUT (FORMAT binary)")
    run(session, "DROP TABLE t")
    session.close()
    assert tag
    assert on_gpudb(apart, setup, "COPY t FROM STDIN (FORMAT binary)", packed).rows == seen.rows


def test_many_rows_with_all_that_is_computed(sessions: tuple[Session, Session]) -> None:
    """Sequences in the order of the lines, generated columns, domains and CHECK; rows stay in their order."""
    for session in sessions:
        run(
            session,
            "CREATE DOMAIN even AS int CHECK (VALUE % 2 = 0 OR VALUE > 0); CREATE SEQUENCE numbers;"
            "CREATE TABLE t (id bigint DEFAULT nextval('numbers') PRIMARY KEY, a even, b text, c numeric(10,2), d date,"
            " e int GENERATED ALWAYS AS (a * 2) STORED, f text DEFAULT 'same', CHECK (c >= 0))",
        )
    data = b"".join(_lines())
    assert (
        _same(sessions, "COPY t (a, b, c, d) FROM STDIN (FORMAT csv) WHERE a % 10 <> 3", data)[0]
        == f"COPY {ROWS * 9 // 10}"
    )
    rows = _same(sessions, "COPY t TO STDOUT")[1]
    assert rows.count(b"\n") >= ROWS * 9 // 10
    assert _same(sessions, "SELECT bool_and(id = a + 1) FROM t")[1] == b"True"


@pytest.mark.parametrize("line", [0, ROWS // 2, ROWS - 1])
@pytest.mark.parametrize("wrong", [b"x,text,1,2020-01-01\n", b"1,text,1\n", b'1,"text",1,2020-13-01\n'])
def test_the_first_wrong_line(sessions: tuple[Session, Session], line: int, wrong: bytes) -> None:
    """22P02, 22P04 and 22008 with the line, its breaks within quotes counted, and nothing stays."""
    for session in sessions:
        run(session, "CREATE TABLE t (a int, b text, c numeric(10,2), d date)")
    lines = _lines()
    lines[line] = wrong
    lines[-1] = wrong
    seen = _same(sessions, "COPY t FROM STDIN (FORMAT csv)", b"".join(lines))
    inner = sum(each.count(b"\n") - 1 for each in lines[:line])
    assert f"COPY t, line {line + 1 + inner}" in str(seen[2][-1])
    assert _same(sessions, "SELECT count(*) FROM t")[1] == b"0"
    for session in sessions:
        assert files_under(session.database.store.directory / "tables") == set()


def test_constraints_of_many_rows(sessions: tuple[Session, Session]) -> None:
    """23502 and 23514 with the line; 23505 of a key that comes twice."""
    for session in sessions:
        run(session, "CREATE TABLE t (a int PRIMARY KEY, b text NOT NULL, c numeric(10,2) CHECK (c < 2000), d date)")
    for wrong, sqlstate in (
        (b"-1,,1,2020-01-01\n", "23502"),
        (b"-1,x,2001,2020-01-01\n", "23514"),
        (b"7,x,1,2020-01-01\n", "23505"),
    ):
        lines = _lines()
        lines[ROWS // 2] = wrong
        assert _same(sessions, "COPY t FROM STDIN (FORMAT csv)", b"".join(lines))[2][0] == sqlstate
    assert _same(sessions, "SELECT count(*) FROM t")[1] == b"0"


def test_rejected_rows(sessions: tuple[Session, Session]) -> None:
    """All rejected rows with their lines; a limit ends the COPY."""
    for session in sessions:
        run(session, "CREATE TABLE t (a int, b text, c numeric(10,2), d date)")
        run(session, "CREATE TABLE rejects (source text, line bigint, column_name text, value text)")
    lines = _lines()
    for place in range(5, ROWS, 5000):
        lines[place] = b"1,x,%d.x,2020-01-01\n" % place
    data = b"".join(lines)
    copy = "COPY t FROM STDIN (FORMAT csv, ON_ERROR ignore, REJECTS_TABLE 'rejects')"
    assert _same(sessions, copy, data)[0] == f"COPY {ROWS - ROWS // 5000}"
    assert _same(sessions, "COPY rejects TO STDOUT")[1].count(b"\n") == ROWS // 5000
    assert _same(sessions, "COPY t FROM STDIN (FORMAT csv, ON_ERROR ignore, REJECT_LIMIT 3)", data)[2][0] == "22P02"


def test_binary_rows(sessions: tuple[Session, Session]) -> None:
    """Many rows of the binary format, and the row of an error."""
    for session in sessions:
        run(session, "CREATE TABLE t (a int, b text, c numeric(10,2), d date)")
    run(sessions[1], "COPY t FROM STDIN (FORMAT csv)", b"".join(_lines()))
    packed = run(sessions[1], "COPY t TO STDOUT (FORMAT binary)")[1]
    run(sessions[1], "TRUNCATE t")
    assert _same(sessions, "COPY t FROM STDIN (FORMAT binary)", packed)[0] == f"COPY {ROWS}"
    assert _same(sessions, "COPY t TO STDOUT")[1].count(b"\n") >= ROWS
    cut = packed[: len(packed) * 2 // 3]
    assert _same(sessions, "COPY t FROM STDIN (FORMAT binary)", cut)[2][0] == "22P04"


def test_files(sessions: tuple[Session, Session], tmp_path: Path) -> None:
    """Files of every kind and a glob of them; the line of an error within a compressed one."""
    for session in sessions:
        run(session, "CREATE TABLE t (a int, b text, c numeric(10,2), d date)")
    data = b"".join(_lines())
    (tmp_path / "a.csv").write_bytes(data)
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(data, 1))
    with pa.CompressedOutputStream(str(tmp_path / "c.csv.zst"), "zstd") as stream:
        stream.write(data)
    numbers = pa.array(range(ROWS), pa.int64())
    pq.write_table(pa.table({"a": numbers, "b": numbers.cast(pa.string())}), tmp_path / "d.parquet")
    assert _same(sessions, f"SELECT load_data('t', '{tmp_path}/*')")[1] == b"%d" % (4 * ROWS)
    assert _same(sessions, f"COPY t FROM '{tmp_path}/a.csv' (FORMAT csv)")[0] == f"COPY {ROWS}"
    assert _same(sessions, "COPY t TO STDOUT")[1].count(b"\n") >= 5 * ROWS
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(data + b"1,x,2020-01-01\n", 1))
    error = _same(sessions, f"SELECT load_data('t', '{tmp_path}/b.csv.gz')")[2]
    assert error[0] == "22P04"
    line = data.count(b"\n") + 1
    assert f"line {line}" in str(error[-1])
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(data, 1)[:-100])
    assert _same(sessions, f"SELECT load_data('t', '{tmp_path}/b.csv.gz')")[2][0] == "XX001"


def test_arrow_files(sessions: tuple[Session, Session], tmp_path: Path) -> None:
    """One batch of more rows than a call has, as plain values, views and dictionaries; an error's row."""
    rows = 2 * BATCH_ROWS + 1000
    words = pa.array([f"row {number}, whose text is longer than a view" for number in range(rows)])
    wrong = pa.array(["1"] * (rows - 1) + ["x"]).dictionary_encode()
    numbers = pa.array(range(rows), pa.int64())
    for session in sessions:
        run(session, "CREATE TABLE t (a int, b text)")
    for number, texts in enumerate((words, words.cast(pa.string_view()), words.dictionary_encode(), wrong)):
        batch = pa.record_batch({"a": numbers, "b": texts})
        with pa.ipc.new_file(str(tmp_path / f"{number}.arrow"), batch.schema) as file:
            file.write_batch(batch)
        assert _same(sessions, f"SELECT load_data('t', '{tmp_path}/{number}.arrow')")[1] == b"%d" % rows
    assert _same(sessions, "COPY t TO STDOUT")[1].count(b"\n") == 4 * rows
    for session in sessions:
        run(session, "ALTER TABLE t DROP COLUMN b; ALTER TABLE t ADD b int")
    error = _same(sessions, f"SELECT load_data('t', '{tmp_path}/3.arrow')")[2]
    assert error[0] == "22P02"
    assert f"row {rows}" in str(error[-1])


def test_partitions_and_buckets(sessions: tuple[Session, Session]) -> None:
    """Rows of partitioned tables, and of those that are distributed by hash."""
    data = b"".join(_lines())
    for definition in (
        "CREATE TABLE t (a int, b text, c numeric(10,2), d date) DISTRIBUTE BY HASH (a)",
        "CREATE TABLE t (a int, b text, c numeric(10,2), d date) PARTITION BY RANGE (a);"
        f"CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (0) TO ({ROWS // 2});"
        f"CREATE TABLE t2 PARTITION OF t FOR VALUES FROM ({ROWS // 2}) TO ({ROWS})",
    ):
        for session in sessions:
            run(session, f"DROP TABLE IF EXISTS t; {definition}")
        assert _same(sessions, "COPY t FROM STDIN (FORMAT csv)", data)[0] == f"COPY {ROWS}"
        assert _same(sessions, "COPY (SELECT * FROM t ORDER BY a) TO STDOUT")[1].count(b"\n") >= ROWS


def test_numerics_beyond_the_columns_form(sessions: tuple[Session, Session]) -> None:
    """A value without room in 128 bits widens the column amid the load."""
    for session in sessions:
        run(session, "CREATE TABLE t (a numeric, b text)")
    lines = [
        b"%d.5,text of row %d of which there are so many that they are several blocks\n" % (n, n) for n in range(ROWS)
    ]
    lines[ROWS - 5] = b"1" * 60 + b".25,wide\n"
    assert _same(sessions, "COPY t FROM STDIN (FORMAT csv)", b"".join(lines))[0] == f"COPY {ROWS}"
    assert _same(sessions, "SELECT sum(a)::text FROM t")[1]
    assert b"1" * 60 + b".25" in _same(sessions, "COPY t TO STDOUT")[1]
