"""`format(f, VARIADIC array)` and others over an array's items, equivalent to a call with one argument an item.

Their functions are gpudb's own; the hyphen in each name prevents calls from SQL.
"""

from __future__ import annotations

from collections.abc import Callable

from gpudb.functions.dimensions import flatten
from gpudb.functions.json import key_to_text, to_json
from gpudb.functions.let_binding import render_error
from gpudb.functions.library import Function
from gpudb.functions.operands import unpack
from gpudb.functions.registry import Operands, declare
from gpudb.functions.text_literal import quote_literal
from gpudb.functions.to_text import to_text
from gpudb.types import SqlType

_NAMES = frozenset(
    "format num_nulls num_nonnulls json_build_array jsonb_build_array json_build_object jsonb_build_object".split()
)


def get_array_variant(function: Function) -> Function | None:
    """Returns the function over one array, after the arguments before it, that implements a VARIADIC call of
    `function`.
    """
    if function.name not in _NAMES:
        return None
    return Function(0, f"{function.name}-variadic", (SqlType("any"),), function.result, strict=False)


def _render_items(operands: Operands, render_item: Callable[[str, str, SqlType], str], names: str = "pg_e") -> str:
    """Returns a list of `render_item`'s result for the value, scale and type of each item of the last operand,
    `pg_e`.
    """
    item = operands.types[-1]
    item_type = item.element or SqlType("text")
    value, scale = unpack("pg_e", item_type)
    return f"list_transform({flatten(operands.sql[-1], item)}, lambda {names}: {render_item(value, scale, item_type)})"


def _render_format(operands: Operands) -> str:
    texts = _render_items(
        operands, lambda value, scale, item: f"CAST({to_text(value, scale, item, output=True)} AS VARCHAR)"
    )
    return f"pg_format({operands.sql[0]}, coalesce({texts}, CAST([] AS VARCHAR[])))"


def _make_count(negated: bool) -> Callable[[Operands], str]:
    test = f"IS {'NOT ' * negated}NULL"

    def render(operands: Operands) -> str:
        ones = _render_items(operands, lambda value, scale, item: f"CAST({value} {test} AS INTEGER)")
        return _null_if_null(operands, f"coalesce(CAST(list_sum({ones}) AS INTEGER), 0)")

    return render


def _make_array(binary: bool) -> Callable[[Operands], str]:
    def render(operands: Operands) -> str:
        texts = _render_items(operands, lambda value, scale, item: f"coalesce({to_json(value, scale, item)}, 'null')")
        json = f"'[' || coalesce(array_to_string({texts}, ', '), '') || ']'"
        return _null_if_null(operands, f"pg_jsonb_in({json})" if binary else json)

    return render


def _make_object(binary: bool) -> Callable[[Operands], str]:
    """Alternates keys and values."""

    def part(value: str, scale: str, item: SqlType) -> str:
        error = render_error("22004", quote_literal("null value not allowed for object key"), "VARCHAR")
        if binary:
            error = render_error("22023", "'argument ' || pg_i || ': key must not be null'", "VARCHAR")
        text = key_to_text(value, scale, item)
        key = f"(CASE WHEN {value} IS NULL THEN {error} ELSE CAST(to_json({text}) AS VARCHAR) END) || ' : '"
        value_json = f"coalesce({to_json(value, scale, item)}, 'null')"
        return f"CASE WHEN pg_i % 2 = 1 THEN CASE WHEN pg_i > 1 THEN ', ' ELSE '' END || {key} ELSE {value_json} END"

    def render(operands: Operands) -> str:
        odd = render_error("22023", quote_literal("argument list must have even number of elements"), "VARCHAR")
        json = f"'{{' || coalesce(array_to_string({_render_items(operands, part, 'pg_e, pg_i')}, ''), '') || '}}'"
        count = f"len({flatten(operands.sql[-1], operands.types[-1])})"
        json = f"(CASE WHEN {count} % 2 = 1 THEN {odd} ELSE {json} END)"
        return _null_if_null(operands, f"pg_jsonb_in({json})" if binary else json)

    return render


def _null_if_null(operands: Operands, result: str) -> str:
    return f"(CASE WHEN {operands.sql[-1]} IS NOT NULL THEN {result} END)"


declare("format-variadic", _render_format)
declare("num_nulls-variadic", _make_count(negated=False))
declare("num_nonnulls-variadic", _make_count(negated=True))
for _prefix, _binary in (("json", False), ("jsonb", True)):
    declare(f"{_prefix}_build_array-variadic", _make_array(_binary))
    declare(f"{_prefix}_build_object-variadic", _make_object(_binary))
