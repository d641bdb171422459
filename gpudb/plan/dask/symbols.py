"""Numbered expressions: the planner sees one as `e2('§7', a, b)`, an opaque function of its columns.

The planner therefore folds nothing and infers no type. To it every value is text, and a predicate `b2('§7', a, b)` a
boolean.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.plan.tree.traversal import transform
from gpudb.sql import bound

SLOT_RELATION = -1
"""Relation of a column that stands for an argument of a symbol, by its position."""
MAX_ARGUMENTS = 60
"""Maximum number of columns that one expression may read: the planner has one function for each number."""


@dataclass(slots=True)
class Symbols:
    """The expressions of one statement, and the text that stands for each."""

    exprs: list[Any] = field(default_factory=list)
    some_column: str = "'§'"
    """Text of a visible column, the argument of conditions over none, which the planner would otherwise fold by
    running them.
    """

    def encode_call(self, expr: Any, leaf: Callable[[Any], str | None], kind: str = "e") -> str:
        """Returns the opaque call for an expression; `leaf` returns the text of what the planner sees as a value."""
        texts: list[str] = []
        slots: dict[str, bound.Column] = {}

        def change(each: Any) -> Any:
            text = leaf(each)
            if text is None:
                return None
            if text not in slots:
                slots[text] = bound.Column(SLOT_RELATION, len(texts), each.type)
                texts.append(text)
            return slots[text]

        template = transform(expr, change)
        if len(texts) > MAX_ARGUMENTS:
            raise NotSupportedOnWorkers("an expression over more than 60 columns")
        self.exprs.append(template)
        if not texts and kind == "e":
            # The planner would fold a call of constants by running it.
            return f"'§{len(self.exprs) - 1}'"
        if not texts:
            texts.append(self.some_column)
        number = f"'§{len(self.exprs) - 1}'"
        return f"{kind}{len(texts)}({', '.join([number, *texts])})"

    def expand(self, number: int, arguments: tuple[Any, ...]) -> Any:
        """Returns expression `number` over these arguments."""

        def change(each: Any) -> Any:
            return arguments[each.index] if isinstance(each, bound.Column) and each.rel == SLOT_RELATION else None

        return transform(self.exprs[number], change)
