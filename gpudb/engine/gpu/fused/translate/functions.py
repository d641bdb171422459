"""Functions and casts that kernels compute: arithmetic, comparisons, date fields; exact, with errors as codes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from gpudb.engine.gpu.fused.ir.pipeline import (
    BOOLEAN,
    Arithmetic,
    BodyCall,
    Bounds,
    Compare,
    DateField,
    Expr,
    FloatToInteger,
    Literal,
    Quotient,
    RangeCheck,
    SquareRoot,
    ToFloat,
    WholeFloat,
)
from gpudb.engine.gpu.fused.numpy_backend import calendar
from gpudb.engine.gpu.fused.translate.mapping_tables import MappingTables
from gpudb.engine.gpu.fused.translate.typed_values import TEXT, TIMESTAMPS, WIDE, NotFused, TypedValue
from gpudb.engine.gpu.lower.error_codes import (
    BODY_ERRORS,
    DIVISION,
    FORMAT,
    NUMERIC,
    OUT_OF_RANGE,
    OVERFLOW,
    ROOT,
    UNDERFLOW,
)
from gpudb.functions.library import COMMUTATORS
from gpudb.functions.registry import Function
from gpudb.plcuda.source import MAX_ERRORS
from gpudb.sql import bound
from gpudb.types import BOOL, MAX_DIGITS, SqlType
from gpudb.types.facts import FLOATS, INTEGER_LIMITS, INTEGERS
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
_ROUNDINGS: dict[str, Any] = {"floor": "floor", "ceil": "ceil", "ceiling": "ceil", "trunc": "trunc", "round": "rint"}
_OPS: dict[str, Any] = {"pl": "+", "mi": "-", "mul": "*", "div": "/"}
_COMPARISONS: dict[str, Any] = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_INEQUALITIES = frozenset({"<", "<=", ">", ">="})
_COMMUTATORS: dict[str, Any] = {**COMMUTATORS, "==": "==", "!=": "!="}
FIELDS = {"year", "month", "day", "quarter", "dow", "isodow", "doy"}
_CLOCK = {"hour", "minute"}
_INT4, _INT8 = INTEGER_LIMITS["int4"], INTEGER_LIMITS["int8"]
_BODY_BOUNDS: dict[str, Bounds] = {
    "bool": BOOLEAN, "int2": INTEGER_LIMITS["int2"], "int4": _INT4, "int8": _INT8, "float4": None, "float8": None,
    "date": _INT4, "timestamp": _INT8, "timestamptz": _INT8,
}  # fmt: skip
"""What a body may return of each type."""
_FAR = 200_000 * 366
"""Days from 1970 within which 32 bits suffice for calendar arithmetic."""


def union_bounds(*ranges: tuple[int, int]) -> tuple[int, int]:
    """Returns the smallest bounds that contain all ranges."""
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def translate_call(function: Function, args: tuple[TypedValue, ...], kind: SqlType) -> TypedValue:
    """Translates a function of numbers; raises NotFused for any other."""
    name = function.name
    if any(each.dictionary is not None for each in args):
        raise NotFused(f"function {name} of text and other columns")
    if found := _INTEGER.fullmatch(name):
        return _integer_arithmetic(found[1], args, kind)
    if name in _NUMERIC:
        return _numeric_arithmetic(_NUMERIC[name], args, kind)
    if found := _FLOAT.fullmatch(name):
        return _float_arithmetic(_OPS[found[1]], args, kind)
    if name in {"sqrt", "dsqrt"} and args[0].type.name == "float8":
        return TypedValue(kind, SquareRoot(None, args[0].expr.nullable, args[0].expr, ROOT))
    if name in _ROUNDINGS and kind.name == args[0].type.name == "float8":
        return TypedValue(kind, WholeFloat(None, args[0].expr.nullable, args[0].expr, _ROUNDINGS[name]))
    if (
        name in {"power", "pow", "dpow"}
        and kind.name == "float8"
        and isinstance(args[1].expr, Literal)
        and args[1].expr.value == 2.0
    ):
        return _float_arithmetic("*", (args[0], args[0]), kind)
    if found := _COMPARE.fullmatch(name):
        return TypedValue(BOOL, compare(_COMPARISONS[found[1]], *args))
    if found := _MIXED.fullmatch(name):
        left, right = (cast_value(each, SqlType("timestamp")) for each in args)
        return TypedValue(BOOL, compare(_COMPARISONS[found[1] or found[2]], left, right))
    raise NotFused(f"function {function}")


def translate_body_call(
    function: Function, args: tuple[TypedValue, ...], kind: SqlType, tables: MappingTables
) -> TypedValue:
    """Translates a call of a PL/CUDA function, with values of its parameters' types."""
    code = function.code
    assert code is not None
    given = tuple(cast_value(each, item).expr for each, (_, item) in zip(args, code.parameters, strict=True))
    nullable = code.may_be_null or (code.strict and any(each.nullable for each in given))
    bounds = _BODY_BOUNDS[kind.name]
    first = BODY_ERRORS + MAX_ERRORS * tables.number_function(code)
    return TypedValue(kind, BodyCall(bounds, nullable, code, given, first))


def _nullable(*args: TypedValue) -> bool:
    return any(each.expr.nullable for each in args)


def _result_bounds(op: str, left: TypedValue, right: TypedValue) -> tuple[int, int]:
    def combine(x: int, y: int) -> int:
        return x + y if op == "+" else x - y if op == "-" else x * y

    found = [combine(x, y) for x in left.bounds for y in right.bounds]
    return min(found), max(found)


def _integer_arithmetic(suffix: str, args: tuple[TypedValue, ...], kind: SqlType) -> TypedValue:
    if suffix == "um":
        args = (TypedValue(args[0].type, Literal((0, 0), False, 0)), args[0])
        suffix = "mi"
    op = _OPS[suffix]
    limits, code = INTEGER_LIMITS[kind.name], OUT_OF_RANGE[kind.name]
    return TypedValue(kind, _limited_arithmetic(op, args[0], args[1], limits, code))


def _limited_arithmetic(op: Any, left: TypedValue, right: TypedValue, limits: tuple[int, int], code: int) -> Expr:
    bounds, nullable = _result_bounds(op, left, right), _nullable(left, right)
    if limits[0] <= bounds[0] and bounds[1] <= limits[1]:
        return Arithmetic(bounds, nullable, op, left.expr, right.expr)
    if max(-bounds[0], bounds[1]) >= 2**126:
        raise NotFused("a product of more than 127 bits")
    kept = max(bounds[0], limits[0]), min(bounds[1], limits[1])
    return Arithmetic(kept, nullable, op, left.expr, right.expr, limits, code)


def _numeric_arithmetic(op: Any, args: tuple[TypedValue, ...], kind: SqlType) -> TypedValue:
    left, right = args
    scale = kind.numeric_digits[1]
    # The display scale is known where both operands' are constant; a comparison does not need it.
    a, b = (each.display_scale if each.type.is_carried else each.scale for each in args)
    display_scale = None
    if op == "*":
        if left.scale + right.scale != scale:
            raise NotFused("a product of more than 38 decimal digits")
        if isinstance(a, int) and isinstance(b, int):
            display_scale = min(a + b, scale)
    else:
        left, right = (TypedValue(kind, rescale(each, scale)) for each in args)
        if isinstance(a, int) and isinstance(b, int):
            display_scale = max(a, b)
    result = _limited_arithmetic(op, left, right, (1 - _LIMIT, _LIMIT - 1), FORMAT)
    return TypedValue(kind, result, display_scale=display_scale if kind.is_carried else None)


def _float_arithmetic(op: Any, args: tuple[TypedValue, ...], kind: SqlType) -> TypedValue:
    if kind.name == "float4":
        # A 32-bit float overflows earlier.
        raise NotFused(f"arithmetic of type {kind.plain}")
    left, right = (cast_value(each, SqlType("float8")) for each in args)
    codes = OVERFLOW, UNDERFLOW if op in {"*", "/"} else 0, DIVISION if op == "/" else 0
    return TypedValue(kind, Arithmetic(None, _nullable(*args), op, left.expr, right.expr, None, *codes))


def compare(op: Any, left: TypedValue, right: TypedValue) -> Expr:
    """Translates a comparison of two values of one type, or of two numbers."""
    if left.dictionary is not None or right.dictionary is not None:
        raise NotFused("a comparison of two texts")
    names = {left.type.name, right.type.name}
    nullable = _nullable(left, right)
    if names & FLOATS:
        left, right = (cast_value(each, SqlType("float8")) for each in (left, right))
        return Compare(BOOLEAN, nullable, op, left.expr, right.expr)
    scale = max(left.scale, right.scale)
    one, other = rescale(left, scale), rescale(right, scale)
    if isinstance(one, Literal):
        return Compare(BOOLEAN, nullable, _COMMUTATORS[op], *_move_factor(_COMMUTATORS[op], other, one))
    return Compare(BOOLEAN, nullable, op, *_move_factor(op, one, other))


def _move_factor(op: str, left: Expr, right: Expr) -> tuple[Expr, Expr]:
    """Moves a constant factor from a column to the constant that it is compared with: the column stays narrow."""
    match left, right:
        case (
            Arithmetic(op="*", left=of, right=Literal(value=int(factor), is_parameter=False), limits=None),
            Literal(value=int(limit)),
        ) if factor > 0 and op in _INEQUALITIES:
            quotient = limit // factor if op in {"<=", ">"} else -(-limit // factor)
            return of, Literal((quotient, quotient), False, quotient, right.is_parameter)
    return left, right


def multiply(expr: Expr, factor: int) -> Expr:
    """Multiplies an integer by a constant, without the limits of its type."""
    if factor == 1 or (isinstance(expr, Literal) and expr.value is None):
        return expr
    assert expr.bounds is not None
    bounds = expr.bounds[0] * factor, expr.bounds[1] * factor
    if max(-bounds[0], bounds[1]) >= 2**127:
        raise NotFused("a number of more than 127 bits")
    if isinstance(expr, Literal) and isinstance(expr.value, int):
        return Literal(bounds, False, expr.value * factor, expr.is_parameter)
    return Arithmetic(bounds, expr.nullable, "*", expr, Literal((factor, factor), False, factor))


def rescale(value: TypedValue, scale: int) -> Expr:
    """Returns an integer or numeric as an integer of `scale` decimals, at least as many as it has."""
    return multiply(value.expr, 10 ** (scale - value.scale))


def _round_to_scale(value: TypedValue, scale: int) -> Expr:
    factor = 10 ** (value.scale - scale)
    low, high = value.bounds
    return Quotient(
        (_round_half_away(low, factor), _round_half_away(high, factor)),
        value.expr.nullable,
        value.expr,
        factor,
        "round",
    )


def _round_half_away(number: int, factor: int) -> int:
    size = (abs(number) + factor // 2) // factor
    return -size if number < 0 else size


def cast_value(value: TypedValue, kind: SqlType) -> TypedValue:
    """Casts a value to another type."""
    source, target = value.type, kind
    if source.name == target.name and (target.modifier == -1 or source == target) and target.name != "numeric":
        return TypedValue(kind, value.expr, value.dictionary, value.display_scale)
    if value.dictionary is not None or source.name in TEXT or target.name in TEXT:
        raise NotFused(f"cast from {source.plain} to {target.plain}")
    exact = INTEGERS | {"numeric"}
    if target.name in exact and source.name in exact:
        return _to_exact(value, kind)
    if target.name in INTEGERS and source.name == "bool":
        return TypedValue(kind, value.expr)
    if target.name == "float8" and source.name in INTEGERS | FLOATS:
        return TypedValue(
            kind, value.expr if value.expr.bounds is None else ToFloat(None, value.expr.nullable, value.expr)
        )
    if target.name == "float8" and source.name == "numeric":
        if max(-value.bounds[0], value.bounds[1]) >= 2**53 or value.scale > 22:
            raise NotFused("a numeric of more than 53 bits as a float")
        return TypedValue(kind, ToFloat(None, value.expr.nullable, value.expr, 10**value.scale))
    if target.name in INTEGERS and source.name == "float8":
        return _from_float(value, kind)
    if target.name == "timestamp" and source.name == "date" and target.modifier == -1:
        if max(-value.bounds[0], value.bounds[1]) >= WIDE // DAY:
            raise NotFused("an infinite date")
        return TypedValue(kind, multiply(value.expr, DAY))
    if target.name == "date" and source.name == "timestamp":
        low, high = value.bounds
        if max(-low, high) >= WIDE - 1:
            raise NotFused("an infinite timestamp")
        return TypedValue(kind, Quotient((low // DAY, high // DAY), value.expr.nullable, value.expr, DAY, "floor"))
    raise NotFused(f"cast from {source.plain} to {target.plain}")


def _from_float(value: TypedValue, kind: SqlType) -> TypedValue:
    """Rounds a float to an integer."""
    made, limits = value.expr, INTEGER_LIMITS[kind.name]
    if isinstance(made, ToFloat) and made.divisor == 1 and (inner := made.arg.bounds) is not None:
        if limits[0] <= inner[0] and inner[1] <= limits[1] and max(-inner[0], inner[1]) < 2**53:
            return TypedValue(kind, made.arg)  # the integer that it was before
    return TypedValue(kind, FloatToInteger(limits, made.nullable, made, OUT_OF_RANGE[kind.name]))


def _to_exact(value: TypedValue, kind: SqlType) -> TypedValue:
    if value.type.is_carried and value.display_scale is None:
        raise NotFused("a numeric of varying scale")
    scale = kind.numeric_digits[1] if kind.name == "numeric" else 0
    if kind.is_carried and scale < value.scale:
        raise NotFused("a numeric whose decimals may have no room")
    expr = rescale(value, scale) if scale >= value.scale else _round_to_scale(value, scale)
    if kind.name == "numeric":
        limit = 10 ** kind.numeric_digits[0] - 1
        limits, code = (-limit, limit), NUMERIC
    else:
        limits, code = INTEGER_LIMITS[kind.name], OUT_OF_RANGE[kind.name]
    bounds = expr.bounds or (0, 0)
    display_scale = None
    if kind.is_carried:
        if value.type.is_carried and value.type.numeric_digits != kind.numeric_digits:
            raise NotFused("a numeric of varying scale")
        display_scale = value.display_scale if value.display_scale is not None else value.scale
    if bounds[0] < limits[0] or bounds[1] > limits[1]:
        expr = RangeCheck((max(bounds[0], limits[0]), min(bounds[1], limits[1])), expr.nullable, expr, code)
    return TypedValue(kind, expr, display_scale=display_scale)


def translate_extract(expr: bound.Call, value: TypedValue) -> TypedValue:
    """Translates EXTRACT and date_part: a field of a date or timestamp."""
    name = expr.args[0]
    if not isinstance(name, bound.Constant) or not isinstance(name.value, str):
        raise NotFused("extract of a field that is not constant")
    field: Any = name.value.lower()
    micros = value.type.name in TIMESTAMPS
    if value.type.name not in {"date", "timestamp"} or field not in (FIELDS | _CLOCK if micros else FIELDS):
        raise NotFused(f"extract({field} from {value.type.plain})")
    low, high = value.bounds
    unit = DAY if micros else 1
    if low // unit < -_FAR or high // unit > _FAR:
        raise NotFused("a date outside the supported calendar")
    result = DateField(_field_bounds(field, low // unit, high // unit), value.expr.nullable, field, value.expr, micros)
    if expr.type.name == "numeric":
        digits = 10 ** expr.type.numeric_digits[1]
        return TypedValue(expr.type, multiply(result, digits), display_scale=0 if expr.type.is_carried else None)
    if expr.type.name == "float8":
        return TypedValue(expr.type, ToFloat(None, result.nullable, result))
    raise NotFused(f"extract of type {expr.type.plain}")


_UNITS = {
    "microseconds": 1, "milliseconds": 1000, "second": 10**6, "minute": 60 * 10**6, "hour": 3600 * 10**6, "day": DAY,
    "week": 7 * DAY,
}  # fmt: skip
"""The length of units of which all are equally long, in microseconds."""
_MONDAY = -3 * DAY
"""The beginning of a week: 1970 began on a Thursday."""


def translate_truncation(expr: bound.Call, value: TypedValue) -> TypedValue:
    """Translates date_trunc of a timestamp to a unit of one length."""
    unit = expr.args[0]
    length = (
        _UNITS.get(unit.value.lower()) if isinstance(unit, bound.Constant) and isinstance(unit.value, str) else None
    )
    low, high = value.bounds
    if length is None or value.type.name != "timestamp" or expr.type.name != "timestamp":
        raise NotFused("date_trunc of a type, or to a unit, of varying length")
    if max(-low, high) >= WIDE - 8 * DAY:
        raise NotFused("an infinite timestamp")
    start = _MONDAY if length == 7 * DAY else 0
    shifted = add_constant(value.expr, -start)
    assert shifted.bounds is not None
    bounds = shifted.bounds[0] // length, shifted.bounds[1] // length
    whole = Quotient(bounds, value.expr.nullable, shifted, length, "floor")
    return TypedValue(expr.type, add_constant(multiply(whole, length), start))


def add_constant(expr: Expr, addend: int) -> Expr:
    """Adds a constant to an integer, without the limits of its type."""
    if addend == 0:
        return expr
    assert expr.bounds is not None
    bounds = expr.bounds[0] + addend, expr.bounds[1] + addend
    return Arithmetic(bounds, expr.nullable, "+", expr, Literal((addend, addend), False, addend))


def _field_bounds(field: str, low: int, high: int) -> Bounds:
    if field == "year":
        first, last = (int(calendar.extract_field("year", np.int64(each), micros=False)) for each in (low, high))
        return first, last
    return {
        "month": (1, 12), "day": (1, 31), "quarter": (1, 4), "dow": (0, 6), "isodow": (1, 7), "doy": (1, 366),
        "hour": (0, 23), "minute": (0, 59),
    }[field]  # fmt: skip
