"""Files as COPY data for a client's connection, and their progress."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpudb.errors import GpudbError
from gpudb.storage.load.client import list_copy_sources
from gpudb.storage.load.files import find_files
from gpudb.storage.load.progress import Progress


def test_csv_goes_as_it_is_and_columns_as_csv(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbf1,x\n")
    with gzip.open(tmp_path / "b.csv.gz", "wb") as packed:
        packed.write(b"2,y\n" * 500_000)
    table = pa.table({"a": [3, None], "b": pa.array(['x,"y"', ""]).dictionary_encode()})
    pq.write_table(table, tmp_path / "c.parquet")
    seen: list[Progress] = []
    sources = list_copy_sources(f"{tmp_path}/*", seen.append)
    assert [source.file.path.name for source in sources] == ["a.csv", "b.csv.gz", "c.parquet"]
    assert [source.columns for source in sources] == [None, None, ("a", "b")]
    assert [source.is_csv for source in sources] == [True, True, False]
    data = [b"".join(source.chunks) for source in sources]
    assert data[0] == b"1,x\n"
    assert data[1] == b"2,y\n" * 500_000
    assert data[2] == b'3,"x,""y"""\n,""\n'
    total = sum(file.stat().st_size for file in tmp_path.iterdir())
    assert seen[-1].done == seen[-1].total == total
    assert [step.done for step in seen] == sorted(step.done for step in seen)


def test_files_without_a_name_are_known_by_their_first_bytes(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "one")
    with gzip.open(tmp_path / "three", "wb") as packed:
        packed.write(b"1\n")
    (tmp_path / "two").write_text("1\n")
    found = {file.path.name: (file.kind, file.compression) for file in find_files(f"{tmp_path}/*")}
    assert found == {"one": ("parquet", None), "three": ("csv", "gzip"), "two": ("csv", None)}


@pytest.mark.parametrize(
    ("pattern", "sqlstate"),
    [("nothing/*.csv", "58P01"), ("missing.csv", "58P01"), ("", "42809"), ("s3://b/x", "0A000")],
)
def test_what_cannot_be_found(tmp_path: Path, pattern: str, sqlstate: str) -> None:
    with pytest.raises(GpudbError) as failed:
        find_files(pattern if "://" in pattern else f"{tmp_path}/{pattern}")
    assert failed.value.sqlstate == sqlstate


def test_folders_deep_down(tmp_path: Path) -> None:
    (tmp_path / "x" / "y").mkdir(parents=True)
    (tmp_path / "x" / "y" / "1.csv").write_text("1\n")
    (tmp_path / "x" / "2.csv").write_text("2\n")
    assert [file.path.name for file in find_files(f"{tmp_path}/**/*.csv")] == ["2.csv", "1.csv"]
