"""Data files truncated, corrupted and swapped under a running server; edge cases of CSV, Arrow and Parquet files."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from tests.support.oracle.wire import WireClient
from tests.support.server_program import Program

CASES = 60
SOAK_CASES = 1_000
SEED = 20261121

_TABLE = """CREATE TABLE t{0} AS SELECT i AS a, 'row ' || i AS b, i * 1.25 AS c, i / 7.0::float8 AS d,
    date '2024-01-01' + i AS e, interval '1 day' * i AS f, ARRAY[i, NULL] AS g, i % 2 = 0 AS h
    FROM generate_series(1, 400) i"""
_READS = (
    "SELECT * FROM t{0}",
    "SELECT count(*), sum(a), min(b), max(c), avg(d), max(e) FROM t{0}",
    "SELECT b FROM t{0} WHERE a BETWEEN 100 AND 110",
    "SELECT g, f FROM t{0} ORDER BY a DESC LIMIT 3",
)
_DAMAGED = {"XX001", "58030", "22003"}  # a flipped bit may also produce a number outside its type's range


def _cut(chance: random.Random, data: bytes) -> bytes:
    return data[: chance.randrange(len(data))]


def _scramble(chance: random.Random, data: bytes) -> bytes:
    made = bytearray(data)
    for _ in range(chance.choice((1, 4, 64))):
        made[chance.randrange(len(made))] = chance.randrange(256)
    return bytes(made)


def _footer(chance: random.Random, data: bytes) -> bytes:
    """Corrupts what a reader reads first: the footer and its length."""
    made = bytearray(data)
    for _ in range(chance.choice((1, 3, 9))):
        made[len(made) - 1 - chance.randrange(min(1200, len(made)))] = chance.randrange(256)
    return bytes(made)


def _hole(chance: random.Random, data: bytes) -> bytes:
    at = chance.randrange(len(data))
    return data[:at] + bytes(min(512, len(data) - at)) + data[at + 512 :]


def _other(chance: random.Random, data: bytes) -> bytes:
    return chance.choice((b"", b"PAR1", b"PAR1" * 2, b"a,b\n1,2\n", bytes(4096), data[4:], data[::-1]))


_DAMAGES: tuple[Callable[[random.Random, bytes], bytes], ...] = (_cut, _scramble, _footer, _hole, _other)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    with Program(tmp_path_factory.mktemp("files") / "data") as running:
        yield running
        assert running.stop() == 0


def _data_files(tables: Path) -> set[Path]:
    """The data files of all tables; folders of dropped tables may vanish meanwhile."""
    return {Path(folder, name) for folder, _, names in os.walk(tables) for name in names if name.endswith(".parquet")}


def _damage_and_read(program: Program, count: int) -> None:
    chance = random.Random(SEED)
    tables = program.log.parent / "data" / "tables"
    client = WireClient(program.dsn)
    assert not client.execute("CREATE TABLE whole AS SELECT i FROM generate_series(1, 1000) i").failed
    noticed = 0
    for number in range(count):
        before = _data_files(tables)
        assert not client.execute(_TABLE.format(number)).failed
        (path,) = _data_files(tables) - before
        damage = chance.choice(_DAMAGES)
        path.chmod(0o644)
        path.write_bytes(damage(chance, path.read_bytes()))
        outcomes = [client.execute(sql.format(number)) for sql in _READS]
        for sql, outcome in zip(_READS, outcomes, strict=True):
            shown = (number, damage.__name__, sql.format(number), outcome.sqlstate, outcome.message[:300])
            assert outcome.sqlstate is None or outcome.sqlstate in _DAMAGED, shown
            assert "Traceback" not in outcome.message, shown
        noticed += any(outcome.failed for outcome in outcomes)
        # An unreadable table can still be dropped.
        assert not client.execute(f"DROP TABLE t{number}").failed
    assert noticed > count / 3
    assert client.execute("SELECT count(*), sum(i) FROM whole").rows == (("1000", "500500"),)
    client.execute("DROP TABLE whole")
    client.close()


def test_some_damaged_data_files(program: Program) -> None:
    _damage_and_read(program, CASES)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_many_damaged_data_files(program: Program) -> None:
    _damage_and_read(program, SOAK_CASES)


def test_updates_of_a_damaged_table_leave_it_as_it_was(program: Program) -> None:
    """UPDATE and DELETE of unreadable files fail; rows written beside them stay readable."""
    tables = program.log.parent / "data" / "tables"
    client = WireClient(program.dsn)
    before = _data_files(tables)
    assert not client.execute("CREATE TABLE hurt AS SELECT i AS a FROM generate_series(1, 50000) i").failed
    (path,) = _data_files(tables) - before
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    for sql in ("UPDATE hurt SET a = a + 1", "DELETE FROM hurt WHERE a > 5", "INSERT INTO hurt SELECT a FROM hurt"):
        assert client.execute(sql).sqlstate in _DAMAGED
    path.write_bytes(data)
    assert client.execute("SELECT count(*), min(a), max(a) FROM hurt").rows == (("50000", "1", "50000"),)
    client.close()


def _files(folder: Path) -> dict[str, bytes]:
    table = pa.table({"a": list(range(500)), "b": [f"text {n}" for n in range(500)]})
    parquet, arrow = folder / "whole.parquet", folder / "whole.arrow"
    pq.write_table(table, parquet)
    feather.write_feather(table, arrow)
    csv = "a,b\n" + "".join(f"{n},text {n}\n" for n in range(500))
    return {"parquet": parquet.read_bytes(), "arrow": arrow.read_bytes(), "csv": csv.encode()}


@pytest.mark.parametrize("kind", ["parquet", "arrow", "csv"])
def test_loading_damaged_files_is_all_or_nothing(program: Program, tmp_path: Path, kind: str) -> None:
    """`load_data` of a damaged file loads the file's contents, or nothing with a clear error."""
    chance = random.Random(SEED)
    data = _files(tmp_path)[kind]
    client = WireClient(program.dsn)
    assert not client.execute("CREATE TABLE loaded (a bigint, b text)").failed
    failed = 0
    for number in range(25):
        path = tmp_path / f"bad{number}.{kind}"
        path.write_bytes(chance.choice(_DAMAGES)(chance, data))
        before = client.execute("SELECT count(*) FROM loaded").rows
        outcome = client.execute(f"SELECT load_data('loaded', '{path}')")
        assert (outcome.sqlstate or "00000") not in {"XX000", "08006"}, outcome.message[:300]
        assert "Traceback" not in outcome.message
        if outcome.failed:
            failed += 1
            assert client.execute("SELECT count(*) FROM loaded").rows == before
    assert failed
    client.execute("DROP TABLE loaded")
    client.close()


def test_a_damaged_catalog_is_told_at_start(tmp_path: Path) -> None:
    """The server refuses to start on an unreadable catalog, reports it in one line, and changes nothing."""
    directory = tmp_path / "data"
    with Program(directory) as program:
        client = WireClient(program.dsn)
        client.execute("CREATE TABLE t AS SELECT 1 AS a")
        client.close()
        assert program.stop() == 0
    catalog = directory / "catalog.db"
    data = catalog.read_bytes()
    catalog.write_bytes(data[: len(data) // 3])
    with pytest.raises(RuntimeError) as caught:
        Program(directory)
    said = str(caught.value)
    assert "Traceback" not in said
    assert "catalog" in said, said
    assert list((directory / "tables").rglob("*.parquet"))
