"""Null masks of columns with an offset into shared memory, such as slices of frames.

cudf-polars reuses an argument's mask for some results, or sets a new mask, as if column and mask had the same offset:
for a slice that would be other rows' NULLs. Such operations get copied columns.
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
"""Operations that reuse their argument's mask unchanged."""


class OwnMask(expr.Expr):  # type: ignore[misc]
    """The same values, with a mask that begins where they do."""

    _non_child = ("dtype",)

    def __init__(self, dtype: Any, value: Any) -> None:
        self.dtype = dtype
        self.children = (value,)
        self.is_pointwise = True

    def do_evaluate(self, frame: Any, **context: Any) -> Any:
        """Called by cudf-polars."""
        made = self.children[0].evaluate(frame, **context)
        return made if made.obj.null_mask() is None else copy_with_mask(made, frame.stream)


def copy_with_mask(column: Any, stream: Any) -> Any:
    """Copies a column to memory of its own; returns it unchanged if it has no offset."""
    if not column.obj.offset():
        return column
    return Column(column.obj.copy(stream=stream), dtype=column.dtype, name=column.name).sorted_like(column)


def protect_mask(made: Any) -> Any:
    """Wraps the argument of an operation that reuses its mask."""
    borrowing = _BORROWING.get(type(made))
    if borrowing is None or made.name not in borrowing:
        return made
    value, *others = made.children
    return made.reconstruct([OwnMask(value.dtype, value), *others])
