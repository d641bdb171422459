"""What is known of the order of cudf-polars' rows, from which it takes equal keys to lie side by side.

Distinct rows come in the order of a hash table, where nothing else is asked for, but keep what was known of theirs.
"""

from __future__ import annotations

from typing import Any

from cudf_polars.containers import Column, DataFrame
from cudf_polars.dsl import ir


def install() -> None:
    """Has distinct rows forget their order unless they keep it."""
    known = ir.Distinct.do_evaluate

    def distinct(cls: Any, keep: Any, subset: Any, zlice: Any, stable: bool, frame: Any, *, context: Any) -> Any:
        made = known(keep, subset, zlice, stable, frame, context=context)
        return made if stable else forgotten(made)

    ir.Distinct.do_evaluate = classmethod(distinct)


def forgotten(frame: Any) -> Any:
    """A frame of whose order nothing is known."""
    columns = [Column(each.obj, name=each.name, dtype=each.dtype) for each in frame.columns]
    return DataFrame(columns, stream=frame.stream, num_rows=frame.num_rows)
