"""Translation of lazy frames to cudf-polars' nodes, and what their sources say of their size."""

from __future__ import annotations

from typing import Any

import polars as pl
from cudf_polars.dsl import ir
from cudf_polars.dsl.translate import Translator

from gpudb.engine.gpu.backend.host import beyond_calendar
from gpudb.engine.gpu.backend.library_errors import raise_if_too_large
from gpudb.engine.gpu.cudf.columns.frame import FrameSource

_ENGINE = pl.GPUEngine(executor="in-memory", raise_on_fail=True)


def translate(lazy: pl.LazyFrame, flags: pl.QueryOptFlags) -> tuple[Any, list[str]]:
    """Translates a lazy frame, optimized by Polars, to a cudf-polars node; returns the translator's errors, too."""
    found: list[tuple[Any, list[str]]] = []

    def after(plan: Any, duration: int | None) -> None:
        translator = Translator(plan, _ENGINE)
        node = translator.translate_ir()
        found.append((node, list(dict.fromkeys(f"{error}"[:200] for error in translator.errors))))
        # Polars itself computes nothing.
        plan.set_udf(lambda *_: pl.DataFrame())

    try:
        lazy.collect(engine="in-memory", optimizations=flags, post_opt_callback=after)  # type: ignore[call-overload]
    except pl.exceptions.PanicException as panic:
        raise_if_too_large(panic)
        raise beyond_calendar() from panic
    return found[0]


def reads_few_rows(node: Any, most: int) -> bool:
    """Returns whether all sources of a plan have at most so many rows, and so have its cross joins together."""
    product, crosses, todo = 1, False, [node]
    while todo:
        each = todo.pop()
        todo += each.children
        crosses |= isinstance(each, ir.ConditionalJoin) or (isinstance(each, ir.Join) and each.options[0] == "Cross")
        if not each.children:
            rows = _source_rows(each)
            if rows is None or rows > most:
                return False
            product *= max(rows, 1)
    return not crosses or product <= most


def _source_rows(node: Any) -> int | None:
    """Returns the rows of a plan's source; None for one that the host cannot read."""
    if isinstance(node, ir.DataFrameScan):
        return int(node.df.height())
    if isinstance(node, ir.Empty):
        return 0
    if isinstance(node, ir.PythonScan):
        if node.options[1] == []:
            return None  # a frame on the host without columns has no rows to count
        cells = getattr(node.options[0], "__closure__", None) or ()
        found = (cell.cell_contents for cell in cells if isinstance(cell.cell_contents, FrameSource))
        return next((source.rows for source in found), None)
    return None
