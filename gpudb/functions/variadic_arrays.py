"""`format(f, VARIADIC array)` and others over an array's items, equivalent to a call with one argument an item.

Their functions are gpudb's own; the hyphen in each name prevents calls from SQL.
"""

from __future__ import annotations

from collections.abc import Callable

from gpudb.functions.dimensions import flat
from gpudb.functions.json import json_of, text_of_key
from gpudb.functions.let_binding import raises
from gpudb.functions.library import Function
from gpudb.functions.operands import unpack
from gpudb.functions.registry import Operands, declare
from gpudb.functions.text_literal import quoted
from gpudb.functions.to_text import text_of
from gpudb.types import SqlType

_NAMES = frozenset(
    "format num_nulls num_nonnulls json_build_array jsonb_build_array json_build_object jsonb_build_object".split()
)


def over_items(function: Function) -> Function | None:
    """Returns the function over one array, after the arguments before it, that implements a VARIADIC call of
    `function`.
    """
    if function.name not in _NAMES:
        return None
    return Function(0, f"{function.name}-variadic", (SqlType("any"),), function.result, strict=False)


def _items(operands: Operands, made: Callable[[str, str, SqlType], str], names: str = "pg_e") -> str:
    """Returns a list of `made`'s result for the value, scale and type of each item of the last operand, `pg_e`."""
    item = operands.types[-1]
    held = item.element or SqlType("text")
    value, scale = unpack("pg_e", held)
    return f"list_transform({flat(operands.sql[-1], item)}, lambda {names}: {made(value, scale, held)})"


def _format(operands: Operands) -> str:
    texts = _items(operands, lambda value, scale, item: f"CAST({text_of(value, scale, item, output=True)} AS VARCHAR)")
    return f"pg_format({operands.sql[0]}, coalesce({texts}, CAST([] AS VARCHAR[])))"


def _counted(negated: bool) -> Callable[[Operands], str]:
    test = f"IS {'NOT ' * negated}NULL"

    def render(operands: Operands) -> str:
        ones = _items(operands, lambda value, scale, item: f"CAST({value} {test} AS INTEGER)")
        return _unless_null(operands, f"coalesce(CAST(list_sum({ones}) AS INTEGER), 0)")

    return render


def _array(binary: bool) -> Callable[[Operands], str]:
    def render(operands: Operands) -> str:
        texts = _items(operands, lambda value, scale, item: f"coalesce({json_of(value, scale, item)}, 'null')")
        made = f"'[' || coalesce(array_to_string({texts}, ', '), '') || ']'"
        return _unless_null(operands, f"pg_jsonb_in({made})" if binary else made)

    return render


def _object(binary: bool) -> Callable[[Operands], str]:
    """Alternates keys and values."""

    def part(value: str, scale: str, item: SqlType) -> str:
        wrong = raises("22004", quoted("null value not allowed for object key"), "VARCHAR")
        if binary:
            wrong = raises("22023", "'argument ' || pg_i || ': key must not be null'", "VARCHAR")
        text = text_of_key(value, scale, item)
        key = f"(CASE WHEN {value} IS NULL THEN {wrong} ELSE CAST(to_json({text}) AS VARCHAR) END) || ' : '"
        given = f"coalesce({json_of(value, scale, item)}, 'null')"
        return f"CASE WHEN pg_i % 2 = 1 THEN CASE WHEN pg_i > 1 THEN ', ' ELSE '' END || {key} ELSE {given} END"

    def render(operands: Operands) -> str:
        odd = raises("22023", quoted("argument list must have even number of elements"), "VARCHAR")
        made = f"'{{' || coalesce(array_to_string({_items(operands, part, 'pg_e, pg_i')}, ''), '') || '}}'"
        count = f"len({flat(operands.sql[-1], operands.types[-1])})"
        made = f"(CASE WHEN {count} % 2 = 1 THEN {odd} ELSE {made} END)"
        return _unless_null(operands, f"pg_jsonb_in({made})" if binary else made)

    return render


def _unless_null(operands: Operands, made: str) -> str:
    return f"(CASE WHEN {operands.sql[-1]} IS NOT NULL THEN {made} END)"


declare("format-variadic", _format)
declare("num_nulls-variadic", _counted(negated=False))
declare("num_nonnulls-variadic", _counted(negated=True))
for _prefix, _binary in (("json", False), ("jsonb", True)):
    declare(f"{_prefix}_build_array-variadic", _array(_binary))
    declare(f"{_prefix}_build_object-variadic", _object(_binary))
