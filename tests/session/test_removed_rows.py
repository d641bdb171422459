"""Positions of the rows that a statement removes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from gpudb.session.execution.locks_and_snapshots.row_waits import group_rows


def test_positions_are_grouped_by_file() -> None:
    files = pa.chunked_array([pa.array(["b", "a"]), pa.array(["a", "c", "b"])])
    found = {path: rows.tolist() for path, rows in group_rows(pa.table({"file": files, "row": [7, 3, 1, 0, 2]}))}
    assert found == {"b": [7, 2], "a": [3, 1], "c": [0]}


def test_paths_of_all_positions_may_exceed_one_array() -> None:
    one = pa.array(["x" * (1 << 20)] * 64)
    count = 33 * len(one)
    positions = pa.table({"file": pa.chunked_array([one] * 33), "row": np.arange(count)})
    assert positions["file"].nbytes > 2**31
    ((_, rows),) = group_rows(positions)
    assert rows.tolist() == list(range(count))
