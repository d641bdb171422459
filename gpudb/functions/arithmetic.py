"""Arithmetic on integers and floats: DuckDB raises on integer overflow and on division by zero as PostgreSQL does."""

from __future__ import annotations

from gpudb.functions.registry import Operands, declare

# Integers. DuckDB computes int2 + int4 in the wider type, as PostgreSQL declares it.
declare("int2pl int4pl int8pl int24pl int42pl int28pl int82pl int48pl int84pl", "({0} + {1})")
declare("int2mi int4mi int8mi int24mi int42mi int28mi int82mi int48mi int84mi", "({0} - {1})")
declare("int2mul int4mul int8mul int24mul int42mul int28mul int82mul int48mul int84mul", "({0} * {1})")
# `//` truncates towards zero; the cast brings back the wider operand's type and its overflow (min / -1).
declare("int2div int4div int8div int24div int42div int28div int82div int48div int84div", "({0} // {1})::{t}")
declare("int2mod int4mod int8mod mod", "({0} % {1})::{t}")
declare("int2um int4um int8um", "(-{0})")
declare("int2up int4up int8up float4up float8up", "({0})")
declare("int2abs int4abs int8abs", "abs({0})::{t}")
declare("int2and int4and int8and", "({0} & {1})")
declare("int2or int4or int8or", "({0} | {1})")
declare("int2xor int4xor int8xor", "xor({0}, {1})")
declare("int2not int4not int8not", "(~{0})")
# PostgreSQL takes shift counts modulo the width.
declare("int4shl", "pg_shl32({0}, {1})")
declare("int8shl", "pg_shl64({0}, {1})")
declare("int2shl", "pg_shl32({0}, {1})::SMALLINT")
declare("int2shr int4shr", "({0} >> ({1} & 31))")
declare("int8shr", "({0} >> ({1} & 63))")


def _checked(operator: str) -> str:
    """A float operation that raises 22003 where finite operands give infinity."""
    value = f"({{0}} {operator} {{1}})"
    return (
        f"(CASE WHEN isinf{value} AND isfinite({{0}}) AND isfinite({{1}})"
        f" THEN pg_error('22003', 'value out of range: overflow')::{{t}} ELSE {value}::{{t}} END)"
    )


declare("float4pl float8pl float48pl float84pl", _checked("+"))
declare("float4mi float8mi float48mi float84mi", _checked("-"))
declare("float4um float8um", "(-{0})")
declare("float4abs float8abs", "abs({0})")


def _float_multiply(operands: Operands) -> str:
    left, right = operands.sql
    under = f"({left} * {right}) = 0 AND {left} <> 0 AND {right} <> 0"
    return f"(CASE WHEN {under} THEN pg_error('22003', 'value out of range: underflow')::{operands.result.duckdb} " + (
        f"ELSE {_checked('*').format(left, right, t=operands.result.duckdb)} END)"
    )


def _float_divide(operands: Operands) -> str:
    left, right = operands.sql
    held = operands.result.duckdb
    return (
        f"(CASE WHEN {right} = 0 AND NOT isnan({left}) THEN pg_error('22012', 'division by zero')::{held}"
        f" WHEN isinf({left} / {right}) AND isfinite({left})"
        f" THEN pg_error('22003', 'value out of range: overflow')::{held}"
        f" WHEN {left} / {right} = 0 AND {left} <> 0 AND isfinite({right})"
        f" THEN pg_error('22003', 'value out of range: underflow')::{held} ELSE ({left} / {right})::{held} END)"
    )


declare("float4mul float8mul float48mul float84mul", _float_multiply)
declare("float4div float8div float48div float84div", _float_divide)
