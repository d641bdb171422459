"""Null masks of columns that begin inside another's memory, as slices of frames do.

cudf-polars gives some results the mask of the column they are made of, or a column a new mask, as if both began where
the mask does: of a slice it would be other rows' NULLs. Such operations get columns in memory of their own.
"""

from __future__ import annotations

from typing import Any

from cudf_polars.containers import Column
from cudf_polars.dsl import expr

_TESTS = expr.BooleanFunction.Name
_TEXTS = expr.StringFunction.Name
_BORROWING = {
    expr.BooleanFunction: {_TESTS.IsNan, _TESTS.IsNotNan, _TESTS.IsFinite, _TESTS.IsInfinite},
    expr.StringFunction: {_TEXTS.Head, _TEXTS.Tail},
}
"""What takes its argument's mask as it lies."""


class Own(expr.Expr):  # type: ignore[misc]
    """The same values, with a mask that begins where they do."""

    _non_child = ("dtype",)

    def __init__(self, dtype: Any, value: Any) -> None:
        self.dtype = dtype
        self.children = (value,)
        self.is_pointwise = True

    def do_evaluate(self, frame: Any, **context: Any) -> Any:
        """Called by cudf-polars."""
        made = self.children[0].evaluate(frame, **context)
        return made if made.obj.null_mask() is None else owned(made, frame.stream)


def owned(column: Any, stream: Any) -> Any:
    """A column in memory of its own; itself if it begins where its memory does."""
    if not column.obj.offset():
        return column
    return Column(column.obj.copy(stream=stream), dtype=column.dtype, name=column.name).sorted_like(column)


def safe(made: Any) -> Any:
    """An operation of cudf-polars with an argument that it can take the mask of."""
    borrowing = _BORROWING.get(type(made))
    if borrowing is None or made.name not in borrowing:
        return made
    value, *others = made.children
    return made.reconstruct([Own(value.dtype, value), *others])
