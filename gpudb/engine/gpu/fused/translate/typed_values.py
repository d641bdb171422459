"""Translated values: a pipeline's expression, its SQL type, and the dictionary of its codes."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal

from gpudb.engine.gpu.backend.dictionary import Dictionary as Dictionary
from gpudb.engine.gpu.fused.ir.pipeline import BOOLEAN, Bounds, Expr, Literal
from gpudb.engine.gpu.fused.ir.pipeline import NotFused as NotFused
from gpudb.engine.gpu.lower.values import unscaled_digits
from gpudb.types import SqlType
from gpudb.types.facts import FLOATS, INTEGERS

WIDE = 2**63
TEXT = {"text", "varchar", "bpchar", "name", "unknown"}
PLAIN_TEXT = {"text", "varchar"}
"""Types whose columns may be stored as raw text."""
TIMESTAMPS = {"timestamp", "timestamptz"}
SUPPORTED = INTEGERS | FLOATS | TEXT | TIMESTAMPS | {"bool", "date", "time", "oid", "numeric"}
_EPOCH = dt.datetime(1970, 1, 1)


class DictionaryRequired(NotFused):
    """A raw text column where dictionary codes are needed."""


@dataclass(frozen=True, slots=True)
class TypedValue:
    """A typed SQL expression. `display_scale` is that of a numeric of varying scale (NULL where the value is
    NULL).

    `raw_ascii` is not None for a raw text column, and says whether it is ASCII; its expression has no value.
    """

    type: SqlType
    expr: Expr
    dictionary: Dictionary | None = None
    display_scale: int | Expr | None = None
    raw_ascii: bool | None = None

    @property
    def scale(self) -> int:
        """Scale of a numeric; 0 for other types."""
        return self.type.numeric_digits[1] if self.type.name == "numeric" else 0

    @property
    def bounds(self) -> tuple[int, int]:
        """Bounds of an integer; NotFused for a float."""
        if self.expr.bounds is None:
            raise NotFused("a float where an integer is needed")
        return self.expr.bounds


def translate_constant(value: object, kind: SqlType) -> TypedValue:
    """Translates a constant other than text."""
    if kind.name not in SUPPORTED - TEXT:
        raise NotFused(f"a constant of type {kind.plain}")
    bounds: Bounds = None if kind.name in FLOATS else (0, 0)
    if value is None:
        return TypedValue(kind, Literal(bounds, True, None), display_scale=0)
    held: int | float
    display_scale = None
    match value:
        case bool():
            return TypedValue(kind, Literal(BOOLEAN, False, int(value), True))
        case _ if kind.name == "numeric":
            number = Decimal(str(value))
            held = unscaled_digits(number, kind.numeric_digits[1])
            exponent = number.as_tuple().exponent
            display_scale = max(0, -exponent) if isinstance(exponent, int) else 0
        case int() | float():
            held = float(value) if kind.name in FLOATS else int(value)
        case dt.datetime():
            moment = value.astimezone(dt.UTC).replace(tzinfo=None) if value.tzinfo else value
            held = (moment - _EPOCH) // dt.timedelta(microseconds=1)
        case dt.date():
            held = (value - _EPOCH.date()).days
        case dt.time():
            held = ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
        case _:
            raise NotFused(f"a constant of type {kind.plain}")
    return TypedValue(
        kind, Literal((held, held) if isinstance(held, int) else None, False, held, True), display_scale=display_scale
    )
