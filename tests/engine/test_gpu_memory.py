"""Where columns lie in memory that processes share: one after another, aligned."""

from __future__ import annotations

from gpudb.engine.gpu_memory import lay_out


def test_columns_lie_one_after_another() -> None:
    assert lay_out([10, 0, 300, 256]) == ([0, 256, 256, 768], 1024)
    assert lay_out([]) == ([], 0)
