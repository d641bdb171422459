"""Corrects the sortedness that cudf-polars records, from which it infers that equal keys are adjacent.

Unordered distinct rows come in a hash table's order, but keep their input's sortedness.
"""

from __future__ import annotations

from typing import Any

from cudf_polars.containers import Column, DataFrame
from cudf_polars.dsl import ir


def install() -> None:
    """Patches cudf-polars so that distinct rows lose their sortedness unless their order is stable."""
    known = ir.Distinct.do_evaluate

    def distinct(cls: Any, keep: Any, subset: Any, zlice: Any, stable: bool, frame: Any, *, context: Any) -> Any:
        made = known(keep, subset, zlice, stable, frame, context=context)
        return made if stable else forget_sortedness(made)

    ir.Distinct.do_evaluate = classmethod(distinct)


def forget_sortedness(frame: Any) -> Any:
    """Returns a frame without sortedness."""
    columns = [Column(each.obj, name=each.name, dtype=each.dtype) for each in frame.columns]
    return DataFrame(columns, stream=frame.stream, num_rows=frame.num_rows)
