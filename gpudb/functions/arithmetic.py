"""Arithmetic on integers and floats: DuckDB raises on integer overflow and on division by zero as PostgreSQL does."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from gpudb.functions.let_binding import let, raises
from gpudb.functions.registry import Operands, declare

_LITERAL = re.compile(r"(\d+)\)?::(?:SMALLINT|INTEGER|BIGINT)")
_BITS = {"SMALLINT": 15, "INTEGER": 31, "BIGINT": 63}


def _integers(sign: str) -> Callable[[Operands], str]:
    """Returns an integer operation. DuckDB folds the constants of a chain such as `a + 5 + 7`, which may overflow where
    no single step does: a plus before an operand prevents this.
    """

    def render(operands: Operands) -> str:
        left, right = operands.sql
        most = 2 ** _BITS[operands.result.duckdb]
        if any(isinstance(each, int) for each in operands.constants):
            found = [max(1, int(each)) for each in _LITERAL.findall(left + right)]
            if len(found) > 1 and (math.prod(found) if sign == "*" else sum(found)) >= most:
                left, right = f"+{left}", f"+{right}"
        return f"({left} {sign} {right})"

    return render


# Integers. DuckDB computes int2 + int4 in the wider type, as PostgreSQL declares it.
declare("int2pl int4pl int8pl int24pl int42pl int28pl int82pl int48pl int84pl", _integers("+"))
declare("int2mi int4mi int8mi int24mi int42mi int28mi int82mi int48mi int84mi", _integers("-"))
declare("int2mul int4mul int8mul int24mul int42mul int28mul int82mul int48mul int84mul", _integers("*"))
# `//` truncates towards zero; the cast restores the wider operand's type and its overflow (min / -1).
declare("int2div int4div int8div int24div int42div int28div int82div int48div int84div", "({0} // {1})::{t}")


def _remainder(operands: Operands) -> str:
    """Returns a remainder; DuckDB divides the least integer by -1 and overflows."""
    left, right = operands.sql
    divisor = operands.constants[1]
    if isinstance(divisor, int) and divisor != -1:
        return f"({left} % {right})::{operands.result.duckdb}"
    return let(
        lambda a, b: f"(CASE WHEN {b} = -1 THEN {a} * 0 ELSE {a} % {b} END)::{operands.result.duckdb}", left, right
    )


declare("int2mod int4mod int8mod mod", _remainder)
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


def _error(message: str, held: str) -> str:
    return raises("22003", f"'value out of range: {message}'", held)


def _finite_constant(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _sum(sign: str) -> Callable[[Operands], str]:
    """Returns a sum or difference that raises 22003 if finite operands yield infinity."""

    def render(operands: Operands) -> str:
        held = operands.result.duckdb

        def body(left: str, right: str) -> str:
            made = f"({left} {sign} {right})"
            return (
                f"(CASE WHEN isinf{made} AND isfinite({left}) AND isfinite({right}) THEN {_error('overflow', held)}"
                f" ELSE {made}::{held} END)"
            )

        return let(body, *operands.sql)

    return render


declare("float4pl float8pl float48pl float84pl", _sum("+"))
declare("float4mi float8mi float48mi float84mi", _sum("-"))
# not `-x`: DuckDB turns -x > y into x < -y, and NaN is the greatest on both sides
declare("float4um float8um", "({0} * -1::{t})")
declare("float4abs float8abs", "abs({0})")


def _product(operands: Operands) -> str:
    held = operands.result.duckdb

    def body(left: str, right: str) -> str:
        made = f"({left} * {right})"
        return (
            f"(CASE WHEN isinf{made} AND isfinite({left}) AND isfinite({right}) THEN {_error('overflow', held)}"
            f" WHEN {made} = 0 AND {left} <> 0 AND {right} <> 0 THEN {_error('underflow', held)}"
            f" ELSE {made}::{held} END)"
        )

    return let(body, *operands.sql)


def _quotient(operands: Operands) -> str:
    held = operands.result.duckdb
    divisor = operands.constants[1]
    known = _finite_constant(divisor) and divisor != 0
    zero = raises("22012", "'division by zero'", held)

    def body(left: str, right: str) -> str:
        made = f"({left} / {right})"
        checked = "" if known else f"WHEN {right} = 0 AND NOT isnan({left}) THEN {zero} "
        return (
            f"(CASE {checked}WHEN isinf{made} AND isfinite({left}) THEN {_error('overflow', held)}"
            f" WHEN {made} = 0 AND {left} <> 0 AND isfinite({right}) THEN {_error('underflow', held)}"
            f" ELSE {made}::{held} END)"
        )

    return let(body, *operands.sql)


declare("float4mul float8mul float48mul float84mul", _product)
declare("float4div float8div float48div float84div", _quotient)
