"""Arithmetic on integers and floats: DuckDB raises on integer overflow and on division by zero as PostgreSQL does."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from functools import cache, partial

from gpudb.functions.float_trees import Operand, Step, apply_plain, apply_step
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
declare("int2up int4up int8up", "({0})")
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


def _make_float_operator(make: Callable[[str], Step]) -> Callable[[Operands], str]:
    """Returns an operation of floats that raises 22003 where finite operands yield infinity, or others than 0 yield 0.

    `make` returns its step for a type of result.
    """
    made = cache(make)
    return lambda operands: apply_step(made(operands.result.duckdb), *operands.sql)


def _finite(*operands: Operand) -> str:
    """Returns the condition, with AND before it, that operands are finite."""
    return "".join(f" AND isfinite({each.sql})" for each in operands if each.constant is None)


def _make_sum(sign: str, duckdb_type: str) -> Step:
    overflow = _range_error("overflow", duckdb_type)
    return Step(
        lambda left, right: f"({left} {sign} {right})",
        lambda total, left, right: [(f"isinf({total}){_finite(left, right)}", overflow)],
    )


declare("float4pl float8pl float48pl float84pl", _make_float_operator(partial(_make_sum, "+")))
declare("float4mi float8mi float48mi float84mi", _make_float_operator(partial(_make_sum, "-")))
# not `-x`: DuckDB turns -x > y into x < -y, and NaN is the greatest on both sides
declare("float4um float8um", lambda o: apply_plain(f"({{0}} * -1::{o.result.duckdb})", o.sql[0]))
declare("float4abs float8abs", lambda o: apply_plain("abs({0})", o.sql[0]))
declare("float4up float8up", lambda o: o.sql[0])


def _make_product(duckdb_type: str) -> Step:
    overflow, underflow = (_range_error(word, duckdb_type) for word in ("overflow", "underflow"))

    def size(left: Operand, right: Operand) -> float | None:
        """Returns the size of the factor that is constant."""
        constant = left.constant if left.constant is not None else right.constant
        return None if constant is None else abs(constant)

    def errors(product: str, left: Operand, right: Operand) -> Iterator[tuple[str, str]]:
        constant = size(left, right)
        if constant is None or constant > 1:
            yield f"isinf({product}){_finite(left, right)}", overflow
        if constant is None or 0 < constant < 1:
            yield f"{product} = 0 AND {left.sql} <> 0 AND {right.sql} <> 0", underflow

    def sure(product: str, left: Operand, right: Operand) -> str | None:
        constant = size(left, right)
        return f"({left.sql} = 0 OR {right.sql} = 0)" if constant is None or 0 < constant < 1 else None

    return Step(lambda left, right: f"({left} * {right})", errors, sure, is_product=True)


def _make_quotient(duckdb_type: str) -> Step:
    zero = render_error("22012", "'division by zero'", duckdb_type)
    overflow, underflow = (_range_error(word, duckdb_type) for word in ("overflow", "underflow"))

    def errors(quotient: str, left: Operand, right: Operand) -> Iterator[tuple[str, str]]:
        divisor = abs(right.constant) if right.constant else None
        if divisor is None:
            yield f"{right.sql} = 0 AND NOT isnan({left.sql})", zero
        if divisor is None or divisor < 1:
            yield f"isinf({quotient}){_finite(left)}", overflow
        if divisor is None or divisor > 1:
            yield f"{quotient} = 0 AND {left.sql} <> 0{_finite(right)}", underflow

    def sure(quotient: str, left: Operand, right: Operand) -> str | None:
        if right.constant and abs(right.constant) <= 1:
            return None
        known = _finite(right) if right.is_computed else ""
        return f"({quotient} <> 0 OR ({left.sql} = 0{known}))"

    return Step(lambda left, right: f"({left} / {right})", errors, sure)


declare("float4mul float8mul float48mul float84mul", _make_float_operator(_make_product))
declare("float4div float8div float48div float84div", _make_float_operator(_make_quotient))
