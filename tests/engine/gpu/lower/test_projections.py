"""A projection's columns as a lazy frame: one node renames columns; computed columns and constants have its length."""

from __future__ import annotations

import polars as pl
import pytest

from gpudb.engine.gpu.backend.host import HostBackend
from gpudb.engine.gpu.lower.expressions.deferred import DeferredSteps
from gpudb.engine.gpu.lower.expressions.host_fallback import HostFallback
from gpudb.engine.gpu.lower.expressions.lowered_frame import LoweringContext
from gpudb.engine.gpu.lower.values import Value
from gpudb.types import INT8, SqlType

CARRIED = SqlType("numeric")
COLUMN = Value(INT8, pl.col("c1"))
PAIR = Value(CARRIED, pl.col("c0"), None, None, (("s", pl.col("c0s")),))
FIVE = Value(INT8, pl.lit(5, pl.Int64), constant=True)
MORE = Value(INT8, pl.col("c1") + 1)


@pytest.mark.parametrize("rows", [0, 1, 3])
@pytest.mark.parametrize("values", [(COLUMN, PAIR, COLUMN), (PAIR,), (FIVE, COLUMN), (FIVE,), (MORE, PAIR), ()])
def test_columns_are_named_anew(values: tuple[Value, ...], rows: int) -> None:
    shown = pl.Series("c0s", range(rows), pl.Int8)
    frame = pl.DataFrame({"c0": pl.Series(range(rows), dtype=pl.Int128), "c0s": shown, "c1": range(7, 7 + rows)})
    lazy = LoweringContext(HostBackend(), HostFallback((), "UTC")).select_values(frame.lazy(), values, DeferredSteps())
    made = lazy.collect()
    wanted: dict[str, pl.Series] = {}
    for place, value in enumerate(values):
        if value is PAIR:
            wanted |= {f"c{place}": frame["c0"], f"c{place}s": frame["c0s"]}
        elif value is FIVE:
            wanted[f"c{place}"] = pl.Series([5] * rows, dtype=pl.Int64)
        else:
            wanted[f"c{place}"] = frame["c1"].cast(pl.Int64) + (value is MORE)
    assert made.equals(pl.DataFrame(wanted))
    if values and not any(value is FIVE or value is MORE for value in values):
        assert "WITH_COLUMNS" not in lazy.explain()
