"""A flipped bit in a data file is an error with the file's name, on every engine, and never a wrong answer."""

from __future__ import annotations

import random
from pathlib import Path

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpudb.errors import GpudbError
from gpudb.storage.iceberg.checksums import verify_columns, verify_files, verify_pages
from gpudb.storage.recovery.check import check
from tests.support.data_directory import run_over
from tests.support.lab import client_of_engine


def _flip(path: Path, position: int) -> None:
    with path.open("r+b") as file:
        file.seek(position)
        byte = file.read(1)[0]
        file.seek(position)
        file.write(bytes([byte ^ 0x10]))


def _last_byte(chunk: pq.ColumnChunkMetaData) -> int:
    """The position of a column chunk's last byte."""
    start = chunk.dictionary_page_offset if chunk.has_dictionary_page else chunk.data_page_offset
    return int(start + chunk.total_compressed_size - 1)


def _write(path: Path, version: str) -> None:
    draws = random.Random(1)
    table = pa.table(
        {
            "a": pa.array(range(50_000), pa.int64()),
            "b": pa.array([f"text {draws.randrange(99)}" for _ in range(50_000)]),
            "c": pa.array([[draws.random()] * draws.randrange(3) for _ in range(50_000)]),
        }
    )
    pq.write_table(table, path, row_group_size=20_000, write_page_checksum=True, data_page_version=version)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_every_byte_of_a_page_is_covered(tmp_path: Path, version: str) -> None:
    path = tmp_path / "a.parquet"
    _write(path, version)
    verify_pages(str(path))
    metadata = pq.read_metadata(path)
    draws = random.Random(2)
    for _ in range(60):
        group = draws.randrange(metadata.num_row_groups)
        # The last bytes of a chunk belong to a page; its first ones are a header, which has no checksum.
        position = _last_byte(metadata.row_group(group).column(draws.randrange(3))) - draws.randrange(200)
        _flip(path, position)
        with pytest.raises(GpudbError, match=r"a\.parquet") as raised:
            verify_pages(str(path))
        assert raised.value.sqlstate == "XX001"
        _flip(path, position)
    verify_pages(str(path))


def test_only_what_is_read_is_verified(tmp_path: Path) -> None:
    path = tmp_path / "b.parquet"
    _write(path, "1.0")
    _flip(path, _last_byte(pq.read_metadata(path).row_group(2).column(0)))
    verify_columns(str(path), ["b", "c"], 0, 50_000)
    verify_columns(str(path), ["a"], 0, 40_000)
    with pytest.raises(GpudbError, match='column "a"'):
        verify_columns(str(path), ["a"], 39_999, 40_001)


def test_pages_without_checksums_and_missing_files(tmp_path: Path) -> None:
    path = tmp_path / "c.parquet"
    pq.write_table(pa.table({"a": [1, 2, 3]}), path, write_page_checksum=False)
    verify_files([str(path)])
    with pytest.raises(GpudbError) as raised:
        verify_files([str(tmp_path / "none.parquet")])
    assert raised.value.sqlstate == "XX001"
    assert "none.parquet" in str(raised.value)
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(GpudbError) as raised:
        verify_pages(str(path))
    assert raised.value.sqlstate == "XX001"


@pytest.mark.parametrize("engine", ["cpu", pytest.param("twin", marks=pytest.mark.timeout(600))])
def test_a_flipped_bit_is_an_error_for_clients(tmp_path: Path, engine: str) -> None:
    directory = tmp_path / "data"
    ((oid,),) = run_over(
        directory,
        "CREATE TABLE sound AS SELECT g AS a FROM generate_series(1, 100000) g",
        "CREATE TABLE t AS SELECT g * 7919 % 100003 AS a FROM generate_series(1, 100000) g",
        "SELECT 't'::regclass::oid",
    )
    (path,) = (directory / "tables" / str(oid)).rglob("*.parquet")
    _flip(path, _last_byte(pq.read_metadata(path).row_group(0).column(0)) - 100)
    assert not check(directory).problems
    assert [name for name, _ in check(directory, deep=True).problems] == ["public.t"]
    with client_of_engine(engine, directory=directory) as connection:
        for statement in (
            "SELECT sum(a) FROM t",
            "SELECT max(a), min(a) FROM t WHERE a > 5",
            "DELETE FROM t WHERE a > 5",
        ):
            for _ in range(2):
                with pytest.raises(psycopg.Error) as raised:
                    connection.execute(statement)
                assert raised.value.sqlstate == "XX001", statement
                assert path.name in str(raised.value), statement
        assert connection.execute("SELECT count(*) FROM sound WHERE a > 5").fetchall() == [(99_995,)]
