"""Arithmetic on integers and floats: DuckDB raises on integer overflow and on division by zero as PostgreSQL does."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from gpudb.functions.let_binding import bind_values, render_error
from gpudb.functions.registry import Operands, declare

_LITERAL = re.compile(r"(\d+)\)?::(?:SMALLINT|INTEGER|BIGINT)")
_BITS = {"SMALLINT": 15, "INTEGER": 31, "BIGINT": 63}


def _make_integer_operator(sign: str) -> Callable[[Operands], str]:
    """Returns an integer operation. DuckDB folds the constants of a chain such as `a + 5 + 7`, which may overflow where
    no single step does: a plus before an operand prevents this.
    """

    def render(operands: Operands) -> str:
        left, right = operands.sql
        limit = 2 ** _BITS[operands.result.duckdb]
        if any(isinstance(operand, int) for operand in operands.constants):
            literals = [max(1, int(operand)) for operand in _LITERAL.findall(left + right)]
            if len(literals) > 1 and (math.prod(literals) if sign == "*" else sum(literals)) >= limit:
                left, right = f"+{left}", f"+{right}"
        return f"({left} {sign} {right})"

    return render


# Integers. DuckDB computes int2 + int4 in the wider type, as PostgreSQL declares it.
declare("int2pl int4pl int8pl int24pl int42pl int28pl int82pl int48pl int84pl", _make_integer_operator("+"))
declare("int2mi int4mi int8mi int24mi int42mi int28mi int82mi int48mi int84mi", _make_integer_operator("-"))
declare("int2mul int4mul int8mul int24mul int42mul int28mul int82mul int48mul int84mul", _make_integer_operator("*"))
# `//` truncates towards zero; the cast restores the wider operand's type and its overflow (min / -1).
declare("int2div int4div int8div int24div int42div int28div int82div int48div int84div", "({0} // {1})::{t}")


def _render_remainder(operands: Operands) -> str:
    """Returns a remainder; DuckDB divides the least integer by -1 and overflows."""
    left, right = operands.sql
    divisor = operands.constants[1]
    if isinstance(divisor, int) and divisor != -1:
        return f"({left} % {right})::{operands.result.duckdb}"
    return bind_values(
        lambda a, b: f"(CASE WHEN {b} = -1 THEN {a} * 0 ELSE {a} % {b} END)::{operands.result.duckdb}", left, right
    )


declare("int2mod int4mod int8mod mod", _render_remainder)
# DuckDB folds a minus before a constant into a wider type.
declare("int2um int4um int8um", "(0::{t} - {0})")
declare("int2up int4up int8up float4up float8up", "({0})")
declare("int2abs int4abs int8abs", "abs({0})::{t}")
declare("int2and int4and int8and", "({0} & {1})")
declare("int2or int4or int8or", "({0} | {1})")
declare("int2xor int4xor int8xor", "xor({0}, {1})")
declare("int2not int4not int8not", "(~{0})")
# PostgreSQL takes shift counts modulo the width.
declare("int4shl", "pg_shl32({0}, {1})")
declare("int8shl", "pg_shl64({0}, {1})")
declare("int2shl", "pg_shl16({0}, {1})")
declare("int2shr int4shr", "({0} >> ({1} & 31))")
declare("int8shr", "({0} >> ({1} & 63))")


def _range_error(message: str, duckdb_type: str) -> str:
    return render_error("22003", f"'value out of range: {message}'", duckdb_type)


def _is_finite_constant(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _make_float_sum(sign: str) -> Callable[[Operands], str]:
    """Returns a sum or difference that raises 22003 if finite operands yield infinity."""

    def render(operands: Operands) -> str:
        duckdb_type = operands.result.duckdb
        overflow = _range_error("overflow", duckdb_type)

        def body(left: str, right: str) -> str:
            total = f"({left} {sign} {right})"
            return (
                f"(CASE WHEN isinf{total} AND isfinite({left}) AND isfinite({right}) THEN {overflow}"
                f" ELSE {total}::{duckdb_type} END)"
            )

        return bind_values(body, *operands.sql)

    return render


declare("float4pl float8pl float48pl float84pl", _make_float_sum("+"))
declare("float4mi float8mi float48mi float84mi", _make_float_sum("-"))
# not `-x`: DuckDB turns -x > y into x < -y, and NaN is the greatest on both sides
declare("float4um float8um", "({0} * -1::{t})")
declare("float4abs float8abs", "abs({0})")


def _render_float_product(operands: Operands) -> str:
    duckdb_type = operands.result.duckdb
    overflow, underflow = (_range_error(word, duckdb_type) for word in ("overflow", "underflow"))

    def body(left: str, right: str) -> str:
        product = f"({left} * {right})"
        return (
            f"(CASE WHEN isinf{product} AND isfinite({left}) AND isfinite({right}) THEN {overflow}"
            f" WHEN {product} = 0 AND {left} <> 0 AND {right} <> 0 THEN {underflow}"
            f" ELSE {product}::{duckdb_type} END)"
        )

    return bind_values(body, *operands.sql)


def _render_float_quotient(operands: Operands) -> str:
    duckdb_type = operands.result.duckdb
    divisor = operands.constants[1]
    constant = _is_finite_constant(divisor) and divisor != 0
    zero = render_error("22012", "'division by zero'", duckdb_type)
    overflow, underflow = (_range_error(word, duckdb_type) for word in ("overflow", "underflow"))

    def body(left: str, right: str) -> str:
        quotient = f"({left} / {right})"
        zero_check = "" if constant else f"WHEN {right} = 0 AND NOT isnan({left}) THEN {zero} "
        return (
            f"(CASE {zero_check}WHEN isinf{quotient} AND isfinite({left}) THEN {overflow}"
            f" WHEN {quotient} = 0 AND {left} <> 0 AND isfinite({right}) THEN {underflow}"
            f" ELSE {quotient}::{duckdb_type} END)"
        )

    return bind_values(body, *operands.sql)


declare("float4mul float8mul float48mul float84mul", _render_float_product)
declare("float4div float8div float48div float84div", _render_float_quotient)
