"""Files that a path or a glob names, and their kinds."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpudb.errors import GpudbError
from gpudb.storage.load.files import find_files


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
