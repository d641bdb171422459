"""Files of the large tables: several processes, each with its own share, write the files that one process writes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from benchmarks.fused import files, scaling


def _tables(folder: Path) -> dict[str, object]:
    return {str(path.relative_to(folder)): pq.read_table(path) for path in sorted(folder.rglob("*.parquet"))}


@pytest.mark.parametrize("suite", ["ssb", "exchange"])
def test_turns_make_what_one_process_does(suite: str, tmp_path: Path) -> None:
    files.write_files(suite, tmp_path / "one", 7000, np, file_rows=1000)
    for turn in (1, 0):
        files.write_files(suite, tmp_path / "two", 7000, np, (turn, 2), file_rows=1000)
    one = _tables(tmp_path / "one")
    assert len(one) > 7
    assert _tables(tmp_path / "two") == one


def test_each_count_of_gpus_has_its_share_of_the_lines(tmp_path: Path) -> None:
    files.write_files("ssb", tmp_path, 8000, np, file_rows=1000)
    whole = _tables(scaling.link_first_files(tmp_path, 4, 4))
    for gpus in (1, 2):
        part = _tables(scaling.link_first_files(tmp_path, gpus, 4))
        lines = [table for name, table in part.items() if name.startswith("lineorder")]
        assert sum(table.num_rows for table in lines) == 2000 * gpus  # type: ignore[attr-defined]
        assert all(whole[name] == table for name, table in part.items())
