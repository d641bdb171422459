"""COPY with server files, and load_data: permissions, file kinds, and no trace of a failed load."""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from gpudb.errors import GpudbError
from gpudb.session.database import Database
from gpudb.session.session import Session
from tests.support.copy_outcomes import run
from tests.support.oracle.server import Oracle


@pytest.fixture
def session(database: Database) -> Iterator[Session]:
    opened = database.session("gpudb")
    run(opened, "CREATE TABLE t (a int NOT NULL, b text DEFAULT 'dd', c numeric(10,2))")
    try:
        yield opened
    finally:
        opened.sync()
        run(opened, "DROP TABLE t")
        opened.close()


def _rows(session: Session) -> bytes:
    return run(session, "COPY (SELECT * FROM t ORDER BY a, c) TO STDOUT")[1]


def _failing(session: Session, sql: str) -> GpudbError:
    error = _tried(session, sql)
    assert error is not None
    return error


def _tried(session: Session, sql: str) -> GpudbError | None:
    try:
        run(session, sql)
    except GpudbError as error:
        session.sync()
        return error
    return None


# ---- COPY


@pytest.mark.parametrize("options", ["", "(FORMAT csv, HEADER)", "(FORMAT binary)"])
def test_a_file_written_is_read_again(session: Session, tmp_path: Path, options: str) -> None:
    run(session, "INSERT INTO t VALUES (1, 'x', 1.5), (2, NULL, NULL), (3, E'a\\tb\\n\"', 3)")
    before = _rows(session)
    file = tmp_path / "t"
    assert run(session, f"COPY t TO '{file}' {options}")[0] == "COPY 3"
    run(session, "TRUNCATE t")
    assert run(session, f"COPY t FROM '{file}' {options}")[0] == "COPY 3"
    assert _rows(session) == before
    assert list(tmp_path.iterdir()) == [file]


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that the oracle can read, which may run as another user."""
    with tempfile.TemporaryDirectory(prefix="gpudb-copy-") as name:
        Path(name).chmod(0o777)
        yield Path(name)


def test_errors_of_files_are_postgresqls(session: Session, oracle: Oracle, shared: Path) -> None:
    tmp_path = shared
    (tmp_path / "bad.csv").write_text("1,x,1\n2,x\n")
    for sql in (
        f"COPY t FROM '{tmp_path / 'missing'}'",
        f"COPY t TO '{tmp_path / 'missing' / 'file'}'",
        f"COPY t FROM '{tmp_path}'",
        f"COPY t TO '{tmp_path}'",
        "COPY t FROM 'relative'",
        f"COPY t FROM '{tmp_path / 'bad.csv'}' (FORMAT csv)",
    ):
        with psycopg.connect(oracle.dsn) as connection:
            connection.execute("CREATE TABLE t (a int NOT NULL, b text, c numeric(10,2))")
            with pytest.raises(psycopg.Error) as expected:
                connection.execute(sql)
            told = expected.value.diag
            connection.rollback()
        error = _failing(session, sql)
        assert (error.sqlstate, error.message, error.hint, error.where) == (
            told.sqlstate,
            told.message_primary,
            told.message_hint,
            told.context,
        )
    assert _rows(session) == b""


def test_only_superusers_name_server_files(database: Database, session: Session, tmp_path: Path) -> None:
    run(session, "CREATE ROLE visitor LOGIN")
    visitor = database.session("visitor")
    try:
        for sql in (
            f"COPY t FROM '{tmp_path}/x'",
            f"COPY t TO '{tmp_path}/x'",
            "COPY t FROM PROGRAM 'true'",
            f"SELECT load_data('t', '{tmp_path}/x')",
        ):
            error = _failing(visitor, sql)
            assert error.sqlstate == "42501", sql
            assert error.message.startswith("permission denied to COPY")
    finally:
        visitor.close()
        run(session, "DROP ROLE visitor")


def test_an_interrupted_write_leaves_the_old_file(session: Session, tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("old")
    _failing(session, f"COPY (SELECT 1 / (a - 1) FROM generate_series(1, 3) AS g(a)) TO '{file}'")
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


# ---- load_data


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "a.csv").write_text('1,x,1.5\n2,"",\n')
    with gzip.open(tmp_path / "b.csv.gz", "wb") as packed:
        packed.write(b"3,y,\n")
    with pa.CompressedOutputStream(str(tmp_path / "c.csv.zst"), "zstd") as stream:
        stream.write(b"4,z,9\n")
    table = pa.table({"C": pa.array([1.25, None]), "a": pa.array([5, 6], pa.int64())})
    pq.write_table(table, tmp_path / "d.parquet")
    pyarrow.feather.write_feather(table.slice(0, 1), str(tmp_path / "e.feather"))
    with pa.OSFile(str(tmp_path / "f.arrows"), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.slice(1))
    return tmp_path


LOADED = b"1\tx\t1.50\n2\t\t\\N\n3\ty\t\\N\n4\tz\t9.00\n5\tdd\t1.25\n5\tdd\t1.25\n6\tdd\t\\N\n6\tdd\t\\N\n"


def test_every_kind_of_file_by_one_glob(session: Session, files: Path) -> None:
    assert run(session, f"SELECT load_data('t', '{files}/*')") == ("SELECT", b"8")
    assert _rows(session) == LOADED


def test_all_arguments(session: Session, files: Path) -> None:
    (files / "g.csv").write_text("a|b|c\nhead\n7|'x|''y'|nil\n8|nil|2.5\n")
    run(session, "INSERT INTO t VALUES (100)")
    call = f"SELECT load_data('public.T', '{files}/g.csv', '|', '''', 100000, '2', 'nil', 'append')"
    assert run(session, call)[1] == b"2"
    assert _rows(session) == b"7\tx|'y\t\\N\n8\t\\N\t2.50\n100\tdd\t\\N\n"
    call = f"SELECT load_data('t', '{files}/a.csv', ',', '', 100000, '0', '', 'replace')"
    assert run(session, call)[1] == b"2"
    assert _rows(session) == b"1\tx\t1.50\n2\t\t\\N\n"


def test_a_prepared_load(session: Session, files: Path) -> None:
    prepared = session.prepare(f"SELECT load_data('t', '{files}/a.csv')")
    assert prepared.columns is not None
    assert [(column.name, column.type.name) for column in prepared.columns] == [("load_data", "int8")]
    result = session.execute(prepared)
    assert [batch.to_pylist() for batch in result.batches] == [[{"c1": 2}]]
    result.close()
    session.sync()
    assert _rows(session) == b"1\tx\t1.50\n2\t\t\\N\n"


def test_a_load_is_rolled_back_with_its_transaction(session: Session, files: Path) -> None:
    run(session, "INSERT INTO t VALUES (100)")
    run(session, "BEGIN")
    run(session, f"SELECT load_data('t', '{files}/*', ',', '', 10, '0', '', 'replace')")
    assert _rows(session) == LOADED
    run(session, "ROLLBACK")
    assert _rows(session) == b"100\tdd\t\\N\n"


def test_one_bad_value_in_the_last_file_leaves_nothing(session: Session, files: Path) -> None:
    run(session, "INSERT INTO t VALUES (100)")
    (files / "z.csv").write_text('1,x,1\n"2\n",x,1\nz,x,1\n')
    call = f"SELECT load_data('t', '{files}/*', ',', '', 10, '0', '', 'replace')"
    error = _failing(session, call)
    assert (error.sqlstate, error.message) == ("22P02", 'invalid input syntax for type integer: "z"')
    assert error.where == f'file "{files}/z.csv", line 4, column a: "z"'
    assert _rows(session) == b"100\tdd\t\\N\n"


def test_values_of_columns_are_checked(session: Session, tmp_path: Path) -> None:
    for column, sqlstate, told in (
        (pa.array([1, 1 << 40]), "22003", 'row 2, column a: "1099511627776"'),
        (pa.array([1, None]), "23502", "row 2"),
        (pa.array(["1", "x"]), "22P02", 'row 2, column a: "x"'),
        (pa.array([1.0, float("nan")]), "22003", 'row 2, column a: "NaN"'),
        (pa.array([True]), "42804", "row 1, column a"),
        (pa.array([{"x": 1}]), "42804", "row 1, column a"),
    ):
        pq.write_table(pa.table({"a": column}), tmp_path / "x.parquet")
        error = _failing(session, f"SELECT load_data('t', '{tmp_path}/x.parquet')")
        assert (error.sqlstate, error.where) == (sqlstate, f'file "{tmp_path}/x.parquet", {told}')
    pq.write_table(pa.table({"a": [1], "zz": [2]}), tmp_path / "x.parquet")
    assert _failing(session, f"SELECT load_data('t', '{tmp_path}/x.parquet')").sqlstate == "42703"
    assert _rows(session) == b""


@pytest.mark.parametrize("name", ["a.csv", "b.csv.gz", "c.csv.zst", "d.parquet", "e.feather", "f.arrows"])
def test_damaged_files_are_errors(session: Session, files: Path, name: str) -> None:
    whole = (files / name).read_bytes()
    file = files / ("cut." + name)
    for length in range(0, len(whole), max(1, len(whole) // 24)):
        file.write_bytes(whole[:length])
        error = _tried(session, f"SELECT load_data('t', '{file}')")
        if error is None:
            # what remains is a complete file: lines of CSV, or batches of a stream
            assert name in {"a.csv", "f.arrows"}, length
            run(session, "TRUNCATE t")
            continue
        assert error.sqlstate in {"XX001", "22P04", "22P02"}, (length, error)
        assert str(file) in error.message + (error.where or "")
        assert _rows(session) == b""


@pytest.mark.parametrize("name", ["b.csv.gz", "c.csv.zst", "d.parquet", "e.feather", "f.arrows"])
def test_flipped_bytes_are_errors_or_values(session: Session, files: Path, name: str) -> None:
    whole = (files / name).read_bytes()
    file = files / ("flipped." + name)
    for place in range(0, len(whole), max(1, len(whole) // 60)):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        error = _tried(session, f"SELECT load_data('t', '{file}')")
        if error is None:
            run(session, "TRUNCATE t")
            continue
        assert error.sqlstate != "XX000", (place, error)
        assert _rows(session) == b""


def test_wrong_arguments(session: Session, files: Path) -> None:
    for arguments, sqlstate in (
        ("'t'", "42883"),
        (f"'nowhere', '{files}/a.csv'", "42P01"),
        ("'t', '/nowhere/*.csv'", "58P01"),
        ("'t', '/nowhere/a.csv'", "58P01"),
        (f"'t', '{files}'", "42809"),
        (f"'t', '{files}/a.csv', 'ab'", "22023"),
        (f"'t', '{files}/a.csv', '\"'", "22023"),
        (f"'t', '{files}/a.csv', ',', '', 0", "22023"),
        (f"'t', '{files}/a.csv', ',', '', 1, '-1'", "22023"),
        (f"'t', '{files}/a.csv', ',', '', 1, '0', ',', 'append'", "22023"),
        (f"'t', '{files}/a.csv', ',', '', 1, '0', '', 'upsert'", "22023"),
        ("'t', 's3://bucket/a.csv'", "0A000"),
        (f"'t', '{files}/' || 'a.csv'", "0A000"),
    ):
        assert _failing(session, f"SELECT load_data({arguments})").sqlstate == sqlstate, arguments


def test_many_loads_at_once(database: Database, session: Session, tmp_path: Path) -> None:
    for number in range(16):
        (tmp_path / f"{number}.csv").write_text(
            "".join(f"{row},x,1.5\n" for row in range(number * 1000, number * 1000 + 1000))
        )

    def load(number: int) -> bytes:
        own = database.session("gpudb")
        try:
            return run(own, f"SELECT load_data('t', '{tmp_path}/{number}.csv')")[1]
        finally:
            own.close()

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(load, range(16))) == [b"1000"] * 16
    assert run(session, "SELECT count(DISTINCT a) FROM t")[1] == b"16000"
