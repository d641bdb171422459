"""Expressions under numbers: what the planner sees of one is `e2('§7', a, b)`, an opaque function of its columns.

So the planner folds nothing and guesses no type: to it every value is text, and a predicate `b2('§7', a, b)` a boolean.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gpudb.functions.library import Function
from gpudb.plan.errors import NotCarried
from gpudb.plan.tree.traversal import transform
from gpudb.sql import bound
from gpudb.types import SqlType

SLOT = -1
"""The relation of a column that stands for an argument of a symbol, by its position."""
MAX_ARGUMENTS = 60
"""Columns that one expression may read: the planner's functions are registered one for each number."""

SINGLE = Function(0, "single_value", (), SqlType("any"), "a", strict=False)
"""An aggregate of our own: the one value of at most one row; NULL without any, 21000 for more."""
FIRST = Function(0, "first_value", (), SqlType("any"), "a", strict=False)
"""An aggregate of our own: the first row's value in its order; NULL without any row."""
NOT_IN = Function(0, "not_in", (), SqlType("bool"), "f", strict=False)
"""The comparison of NOT IN's null-aware anti-join: true where the left value equals the right, or either is NULL."""


@dataclass
class Symbols:
    """The expressions of one statement, and the text that stands for each."""

    exprs: list[Any] = field(default_factory=list)
    some_column: str = "'§'"
    """The text of a column in reach, which a condition over none is given, or it would be run to fold it."""

    def call(self, expr: Any, leaf: Callable[[Any], str | None], kind: str = "e") -> str:
        """The opaque call for an expression; `leaf` gives the text of what the planner is to see as a value."""
        texts: list[str] = []
        slots: dict[str, bound.Column] = {}

        def change(each: Any) -> Any:
            text = leaf(each)
            if text is None:
                return None
            if text not in slots:
                slots[text] = bound.Column(SLOT, len(texts), each.type)
                texts.append(text)
            return slots[text]

        template = transform(expr, change)
        if len(texts) > MAX_ARGUMENTS:
            raise NotCarried("an expression over more than 60 columns")
        self.exprs.append(template)
        if not texts and kind == "e":
            # A call of constants would be run to fold it.
            return f"'§{len(self.exprs) - 1}'"
        if not texts:
            texts.append(self.some_column)
        number = f"'§{len(self.exprs) - 1}'"
        return f"{kind}{len(texts)}({', '.join([number, *texts])})"

    def filled(self, number: int, arguments: tuple[Any, ...]) -> Any:
        """Expression `number` over these arguments."""

        def change(each: Any) -> Any:
            return arguments[each.index] if isinstance(each, bound.Column) and each.rel == SLOT else None

        return transform(self.exprs[number], change)
