"""Emits fields of dates and timestamps as CUDA C++ for one row; packed columns use 32-bit arithmetic."""

from __future__ import annotations

from collections.abc import Callable

from gpudb.engine.gpu.fused.codegen.kernel_source import Code, StatementWriter, c_literal, c_type
from gpudb.engine.gpu.fused.ir.pipeline import DateField, Expr, Field
from gpudb.engine.gpu.fused.numpy_backend.calendar import first_day_of_year
from gpudb.values.calendar import DAY

FEW_YEARS = 12
"""Where a column spans fewer years, the year is found by comparison with the first day of each."""


def emit_date_field(out: StatementWriter, expr: DateField, value_of: Callable[[Expr], Code]) -> Code:
    """Emits a field of a date or timestamp; `value_of` emits its argument."""
    arg = expr.arg
    encoding = out.encodings[arg.column] if isinstance(arg, Field) else None
    packed = expr.micros and encoding is not None and encoding.width <= 4 and encoding.unit >= 1_000_000
    assert expr.bounds is not None
    if expr.field == "year" and expr.bounds[0] > 0 and expr.bounds[1] - expr.bounds[0] < FEW_YEARS:
        return _emit_year(out, expr, value_of, packed)
    value, valid = value_of(arg)
    if packed:
        assert isinstance(arg, Field)
        assert encoding is not None
        # Packed from a midnight on, in units that divide a day: 32 bits suffice.
        a_day = DAY // encoding.unit
        raw = f"f{arg.column}[v]"
        days = f"(int)(base{arg.column} / {DAY}LL) + (int)({raw} / {a_day}u)"
        if expr.field == "hour":
            return out.variable("int", f"(int)({raw} % {a_day}u / {max(a_day // 24, 1)}u)"), valid
        if expr.field == "minute":
            hour = max(a_day // 24, 1)
            return out.variable("int", f"(int)({raw} % {hour}u / {max(hour // 60, 1)}u)"), valid
    elif expr.micros:
        if expr.field in {"hour", "minute"}:
            part = 3_600_000_000 if expr.field == "hour" else 60_000_000
            whole = DAY if expr.field == "hour" else 3_600_000_000
            rest = f"((i64){value} - floor_div({value}, {whole}LL) * {whole}LL)"
            return out.variable("int", f"(int)({rest} / {part}LL)"), valid
        days = f"(int)floor_div({value}, {DAY}LL)"
    else:
        days = f"(int){value}"
    return out.variable("int", f"field_{expr.field}({days})"), valid


def _emit_year(out: StatementWriter, expr: DateField, value_of: Callable[[Expr], Code], packed: bool) -> Code:
    """Emits a year of a short range: the first year, plus one for each later year that has begun."""
    assert expr.bounds is not None
    first, last = expr.bounds
    begins = [first_day_of_year(year) for year in range(first + 1, last + 1)]
    arg = expr.arg
    if packed:
        assert isinstance(arg, Field)
        raw, column, unit = f"f{arg.column}[v]", arg.column, out.encodings[arg.column].unit
        tests = []
        for begin in begins:
            name = out.new_name("year")
            distance = f"({begin * DAY}LL - base{column}) / {unit}LL"
            # No stored value is the maximum of its width: a year that begins after all values gets that.
            out.prologue.append(
                f"const u32 {name} = {begin * DAY}LL <= base{column} ? 0u : (u32)min({distance}, 0xffffffffLL);"
            )
            tests.append(f"({raw} >= {name})")
        valid = f"(n{column} >> v & 1u)" if out.encodings[column].nullable else None
    else:
        value, valid = value_of(arg)
        unit = DAY if expr.micros else 1
        tests = [f"({value} >= {c_literal(begin * unit, c_type(arg.bounds))})" for begin in begins]
    return out.variable("int", " + ".join([str(first), *tests])), valid
