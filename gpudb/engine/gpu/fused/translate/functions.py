"""Functions and casts that kernels compute: arithmetic, comparisons, date fields; exact, with errors as codes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from gpudb.engine.gpu.fused.ir.pipeline import (
    BOOLEAN,
    Arithmetic,
    Bounds,
    Calendar,
    Checked,
    Compare,
    Expr,
    Float,
    Literal,
    Quotient,
    Root,
)
from gpudb.engine.gpu.fused.numpy_backend import calendar
from gpudb.engine.gpu.fused.translate.typed_values import FLOATS, INTEGERS, MOMENTS, TEXT, WIDE, NotFused, Value
from gpudb.engine.gpu.lower.error_codes import DIVISION, FORMAT, NUMERIC, OVERFLOW, RANGES, ROOT, UNDERFLOW
from gpudb.engine.gpu.lower.values import INTEGER_RANGES
from gpudb.functions.library import COMMUTATORS
from gpudb.functions.registry import Function
from gpudb.sql import bound
from gpudb.types import BOOL, MAX_DIGITS, SqlType
from gpudb.values.calendar import DAY

_LIMIT = 10**MAX_DIGITS
_INTEGER = re.compile(r"int(?:2|4|8|24|42|28|82|48|84)(pl|mi|mul|um)")
_NUMERIC = {"numeric_add": "+", "numeric_sub": "-", "numeric_mul": "*"}
_FLOAT = re.compile(r"float(?:4|8|48|84)(pl|mi|mul|div)")
_COMPARE = re.compile(
    r"(?:bool|int(?:2|4|8|24|42|28|82|48|84)|float(?:4|8|48|84)|(?:numeric|date|time|timestamp|timestamptz)_|oid)"
    r"(eq|ne|lt|le|gt|ge)"
)
_MIXED = re.compile(r"(?:date_(eq|ne|lt|le|gt|ge)_timestamp|timestamp_(eq|ne|lt|le|gt|ge)_date)")
_OPS: dict[str, Any] = {"pl": "+", "mi": "-", "mul": "*", "div": "/"}
_COMPARISONS: dict[str, Any] = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_INEQUALITIES = frozenset({"<", "<=", ">", ">="})
_COMMUTATORS: dict[str, Any] = {**COMMUTATORS, "==": "==", "!=": "!="}
FIELDS = {"year", "month", "day", "quarter", "dow", "isodow", "doy"}
_CLOCK = {"hour", "minute"}
_FAR = 200_000 * 366
"""Days from 1970 within which 32 bits suffice for calendar arithmetic."""


def both(*ranges: tuple[int, int]) -> tuple[int, int]:
    """Returns the smallest bounds that contain all ranges."""
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def call(function: Function, args: tuple[Value, ...], kind: SqlType) -> Value:
    """Translates a function of numbers; raises NotFused for any other."""
    name = function.name
    if any(each.dictionary is not None for each in args):
        raise NotFused(f"function {name} of text and other columns")
    if found := _INTEGER.fullmatch(name):
        return _integer(found[1], args, kind)
    if name in _NUMERIC:
        return _numeric(_NUMERIC[name], args, kind)
    if found := _FLOAT.fullmatch(name):
        return _float(_OPS[found[1]], args, kind)
    if name in {"sqrt", "dsqrt"} and args[0].type.name == "float8":
        return Value(kind, Root(None, args[0].expr.nullable, args[0].expr, ROOT))
    if (
        name in {"power", "pow", "dpow"}
        and kind.name == "float8"
        and isinstance(args[1].expr, Literal)
        and args[1].expr.value == 2.0
    ):
        return _float("*", (args[0], args[0]), kind)
    if found := _COMPARE.fullmatch(name):
        return Value(BOOL, compared(_COMPARISONS[found[1]], *args))
    if found := _MIXED.fullmatch(name):
        left, right = (converted(each, SqlType("timestamp")) for each in args)
        return Value(BOOL, compared(_COMPARISONS[found[1] or found[2]], left, right))
    raise NotFused(f"function {function}")


def _nullable(*args: Value) -> bool:
    return any(each.expr.nullable for each in args)


def _corners(op: str, left: Value, right: Value) -> tuple[int, int]:
    def made(x: int, y: int) -> int:
        return x + y if op == "+" else x - y if op == "-" else x * y

    found = [made(x, y) for x in left.bounds for y in right.bounds]
    return min(found), max(found)


def _integer(suffix: str, args: tuple[Value, ...], kind: SqlType) -> Value:
    if suffix == "um":
        args = (Value(args[0].type, Literal((0, 0), False, 0)), args[0])
        suffix = "mi"
    op = _OPS[suffix]
    return Value(kind, _within(op, args[0], args[1], INTEGER_RANGES[kind.name], RANGES[kind.name]))


def _within(op: Any, left: Value, right: Value, limits: tuple[int, int], code: int) -> Expr:
    bounds, nullable = _corners(op, left, right), _nullable(left, right)
    if limits[0] <= bounds[0] and bounds[1] <= limits[1]:
        return Arithmetic(bounds, nullable, op, left.expr, right.expr)
    if max(-bounds[0], bounds[1]) >= 2**126:
        raise NotFused("a product of more than 127 bits")
    kept = max(bounds[0], limits[0]), min(bounds[1], limits[1])
    return Arithmetic(kept, nullable, op, left.expr, right.expr, limits, code)


def _numeric(op: Any, args: tuple[Value, ...], kind: SqlType) -> Value:
    left, right = args
    scale = kind.numeric_digits[1]
    # The display scale is known where both operands' are constant; a comparison does not need it.
    a, b = (each.shown if each.type.carried else each.scale for each in args)
    shown = None
    if op == "*":
        if left.scale + right.scale != scale:
            raise NotFused("a product of more decimals than 38 digits hold")
        if isinstance(a, int) and isinstance(b, int):
            shown = min(a + b, scale)
    else:
        left, right = (Value(kind, at_scale(each, scale)) for each in args)
        if isinstance(a, int) and isinstance(b, int):
            shown = max(a, b)
    made = _within(op, left, right, (1 - _LIMIT, _LIMIT - 1), FORMAT)
    return Value(kind, made, shown=shown if kind.carried else None)


def _float(op: Any, args: tuple[Value, ...], kind: SqlType) -> Value:
    if kind.name == "float4":
        # A 32-bit float overflows earlier.
        raise NotFused(f"arithmetic of type {kind.plain}")
    left, right = (converted(each, SqlType("float8")) for each in args)
    codes = OVERFLOW, UNDERFLOW if op in {"*", "/"} else 0, DIVISION if op == "/" else 0
    return Value(kind, Arithmetic(None, _nullable(*args), op, left.expr, right.expr, None, *codes))


def compared(op: Any, left: Value, right: Value) -> Expr:
    """Translates a comparison of two values of one type, or of two numbers."""
    if left.dictionary is not None or right.dictionary is not None:
        raise NotFused("a comparison of two texts")
    names = {left.type.name, right.type.name}
    nullable = _nullable(left, right)
    if names & FLOATS:
        left, right = (converted(each, SqlType("float8")) for each in (left, right))
        return Compare(BOOLEAN, nullable, op, left.expr, right.expr)
    scale = max(left.scale, right.scale)
    one, other = at_scale(left, scale), at_scale(right, scale)
    if isinstance(one, Literal):
        return Compare(BOOLEAN, nullable, _COMMUTATORS[op], *_unscaled(_COMMUTATORS[op], other, one))
    return Compare(BOOLEAN, nullable, op, *_unscaled(op, one, other))


def _unscaled(op: str, left: Expr, right: Expr) -> tuple[Expr, Expr]:
    """Moves a constant factor from a column to the constant that it is compared with: the column stays narrow."""
    match left, right:
        case (
            Arithmetic(op="*", left=of, right=Literal(value=int(factor), given=False), limits=None),
            Literal(value=int(limit)),
        ) if factor > 0 and op in _INEQUALITIES:
            quotient = limit // factor if op in {"<=", ">"} else -(-limit // factor)
            return of, Literal((quotient, quotient), False, quotient, right.given)
    return left, right


def scaled(expr: Expr, factor: int) -> Expr:
    """Multiplies an integer by a constant, without the limits of its type."""
    if factor == 1 or (isinstance(expr, Literal) and expr.value is None):
        return expr
    assert expr.bounds is not None
    bounds = expr.bounds[0] * factor, expr.bounds[1] * factor
    if max(-bounds[0], bounds[1]) >= 2**127:
        raise NotFused("a number of more than 127 bits")
    if isinstance(expr, Literal) and isinstance(expr.value, int):
        return Literal(bounds, False, expr.value * factor, expr.given)
    return Arithmetic(bounds, expr.nullable, "*", expr, Literal((factor, factor), False, factor))


def at_scale(value: Value, scale: int) -> Expr:
    """Returns an integer or numeric as an integer of `scale` decimals, at least as many as it has."""
    return scaled(value.expr, 10 ** (scale - value.scale))


def _rounded(value: Value, scale: int) -> Expr:
    factor = 10 ** (value.scale - scale)
    low, high = value.bounds
    return Quotient((_nearest(low, factor), _nearest(high, factor)), value.expr.nullable, value.expr, factor, "round")


def _nearest(number: int, factor: int) -> int:
    size = (abs(number) + factor // 2) // factor
    return -size if number < 0 else size


def converted(value: Value, kind: SqlType) -> Value:
    """Casts a value to another type."""
    source, target = value.type, kind
    if source.name == target.name and (target.modifier == -1 or source == target) and target.name != "numeric":
        return Value(kind, value.expr, value.dictionary, value.shown)
    if value.dictionary is not None or source.name in TEXT or target.name in TEXT:
        raise NotFused(f"cast from {source.plain} to {target.plain}")
    exact = INTEGERS | {"numeric"}
    if target.name in exact and source.name in exact:
        return _to_exact(value, kind)
    if target.name in INTEGERS and source.name == "bool":
        return Value(kind, value.expr)
    if target.name == "float8" and source.name in INTEGERS | FLOATS:
        return Value(kind, value.expr if value.expr.bounds is None else Float(None, value.expr.nullable, value.expr))
    if target.name == "float8" and source.name == "numeric":
        if max(-value.bounds[0], value.bounds[1]) >= 2**53 or value.scale > 22:
            raise NotFused("a numeric of more than 53 bits as a float")
        return Value(kind, Float(None, value.expr.nullable, value.expr, 10**value.scale))
    if target.name == "timestamp" and source.name == "date" and target.modifier == -1:
        if max(-value.bounds[0], value.bounds[1]) >= WIDE // DAY:
            raise NotFused("an infinite date")
        return Value(kind, scaled(value.expr, DAY))
    if target.name == "date" and source.name == "timestamp":
        low, high = value.bounds
        if max(-low, high) >= WIDE - 1:
            raise NotFused("an infinite timestamp")
        return Value(kind, Quotient((low // DAY, high // DAY), value.expr.nullable, value.expr, DAY, "floor"))
    raise NotFused(f"cast from {source.plain} to {target.plain}")


def _to_exact(value: Value, kind: SqlType) -> Value:
    if value.type.carried and value.shown is None:
        raise NotFused("a numeric of varying scale")
    scale = kind.numeric_digits[1] if kind.name == "numeric" else 0
    expr = at_scale(value, scale) if scale >= value.scale else _rounded(value, scale)
    if kind.name == "numeric":
        limit = 10 ** kind.numeric_digits[0] - 1
        limits, code = (-limit, limit), NUMERIC
    else:
        limits, code = INTEGER_RANGES[kind.name], RANGES[kind.name]
    bounds = expr.bounds or (0, 0)
    shown = None
    if kind.carried:
        if value.type.carried and value.type.numeric_digits != kind.numeric_digits:
            raise NotFused("a numeric of varying scale")
        shown = value.shown if value.shown is not None else value.scale
    if bounds[0] < limits[0] or bounds[1] > limits[1]:
        expr = Checked((max(bounds[0], limits[0]), min(bounds[1], limits[1])), expr.nullable, expr, code)
    return Value(kind, expr, shown=shown)


def extract(expr: bound.Call, value: Value) -> Value:
    """Translates EXTRACT and date_part: a field of a date or timestamp."""
    name = expr.args[0]
    if not isinstance(name, bound.Constant) or not isinstance(name.value, str):
        raise NotFused("extract of a field that is no constant")
    field: Any = name.value.lower()
    micros = value.type.name in MOMENTS
    if value.type.name not in {"date", "timestamp"} or field not in (FIELDS | _CLOCK if micros else FIELDS):
        raise NotFused(f"extract({field} from {value.type.plain})")
    low, high = value.bounds
    unit = DAY if micros else 1
    if low // unit < -_FAR or high // unit > _FAR:
        raise NotFused("a date far from ours")
    made = Calendar(_field_bounds(field, low // unit, high // unit), value.expr.nullable, field, value.expr, micros)
    if expr.type.name == "numeric":
        digits = 10 ** expr.type.numeric_digits[1]
        return Value(expr.type, scaled(made, digits), shown=0 if expr.type.carried else None)
    if expr.type.name == "float8":
        return Value(expr.type, Float(None, made.nullable, made))
    raise NotFused(f"extract of type {expr.type.plain}")


def _field_bounds(field: str, low: int, high: int) -> Bounds:
    if field == "year":
        first, last = (int(calendar.field("year", np.int64(each), micros=False)) for each in (low, high))
        return first, last
    return {
        "month": (1, 12), "day": (1, 31), "quarter": (1, 4), "dow": (0, 6), "isodow": (1, 7), "doy": (1, 366),
        "hour": (0, 23), "minute": (0, 59),
    }[field]  # fmt: skip
