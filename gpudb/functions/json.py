"""json, stored as written, and jsonb, stored as canonical text: a part of either is a slice of its text."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from gpudb.errors import SqlError
from gpudb.functions.equality import render_equality_key
from gpudb.functions.let_binding import bind_values, render_error
from gpudb.functions.operands import unpack
from gpudb.functions.records import get_member
from gpudb.functions.registry import Operands, declare
from gpudb.functions.text_literal import get_constant_text, quote_literal
from gpudb.functions.to_text import to_text
from gpudb.types import JSONB, SqlType
from gpudb.types.facts import INTEGERS, OIDS

# ---------------------------------------------------------------------------------------------- access


def _render_field_text(operands: Operands) -> str:
    """jsonb ->> 'key': DuckDB's parser decodes a string; other values keep their spelling."""
    key = get_constant_text(operands, 1)
    slow = f"pg_json_text(pg_json_field({operands.sql[0]}, {operands.sql[1]}))"
    if key is None or '"' in key or "\\" in key or not key:
        return slow
    path = quote_literal(f'$."{key}"')
    return bind_values(
        lambda j: (
            f"(CASE WHEN json_type({j}, {path}) = 'VARCHAR' THEN json_extract_string({j}, {path})"
            f" WHEN json_type({j}, {path}) IS NOT NULL THEN pg_json_text(pg_json_field({j}, {operands.sql[1]})) END)"
        ),
        operands.sql[0],
    )


declare("json_object_field jsonb_object_field", "pg_json_field({0}, {1})")
declare("json_object_field_text", "pg_json_text(pg_json_field({0}, {1}))")
declare("jsonb_object_field_text", _render_field_text)
declare("json_array_element", "pg_json_element({0}, {1})")
declare("json_array_element_text", "pg_json_text(pg_json_element({0}, {1}))")
declare("jsonb_array_element", "pg_jsonb_element({0}, {1})")
declare("jsonb_array_element_text", "pg_json_text(pg_jsonb_element({0}, {1}))")


def _render_path(operands: Operands) -> str:
    function = f"pg_{operands.types[0].name}_path"
    if operands.types[1].element is not None:
        return f"{function}({operands.sql[0]}, {operands.sql[1]})"
    steps = ", ".join(f"CAST({step} AS VARCHAR)" for step in operands.sql[1:])
    return f"{function}({operands.sql[0]}, [{steps}])"


declare("json_extract_path jsonb_extract_path", _render_path)
declare("json_extract_path_text jsonb_extract_path_text", lambda o: f"pg_json_text({_render_path(o)})")
declare("json_typeof jsonb_typeof", "pg_json_typeof({0})")
declare("json_array_length jsonb_array_length", "pg_json_array_length({0})")
declare("json_array_elements jsonb_array_elements", "pg_json_elements({0})")
declare("json_array_elements_text jsonb_array_elements_text", "pg_json_elements_text({0})")
declare("json_object_keys jsonb_object_keys", "pg_json_keys({0})")
declare("json_each jsonb_each", "pg_json_each({0})")
declare("json_each_text jsonb_each_text", "pg_json_each_text({0})")

# ---------------------------------------------------------------------------------------------- jsonb only

declare("jsonb_exists", "pg_jsonb_exists({0}, {1})")
declare("jsonb_exists_any", "pg_jsonb_exists_any({0}, {1})")
declare("jsonb_exists_all", "pg_jsonb_exists_all({0}, {1})")
declare("jsonb_contains", "pg_jsonb_contains({0}, {1})")
declare("jsonb_contained", "pg_jsonb_contains({1}, {0})")
declare("jsonb_concat", "pg_jsonb_concat({0}, {1})")
declare("jsonb_delete(jsonb,text)", "(CASE WHEN {1} IS NOT NULL THEN pg_jsonb_delete({0}, [{1}]) END)")
declare("jsonb_delete(jsonb,_text)", "pg_jsonb_delete({0}, {1})")
declare("jsonb_delete(jsonb,int4)", "pg_jsonb_delete_at({0}, {1})")
declare("jsonb_delete_path", "pg_jsonb_delete_path({0}, {1})")
declare("jsonb_pretty", "pg_jsonb_pretty({0})")
declare("jsonb_strip_nulls", "pg_jsonb_strip_nulls({0})")
declare("json_strip_nulls", "pg_json_strip_nulls({0})")


def _add_default(name: str, default: str) -> Callable[[Operands], str]:
    return lambda o: f"{name}({', '.join([*o.sql, *([default] if len(o.sql) == 3 else [])])})"


declare("jsonb_set", _add_default("pg_jsonb_set", "true"))


def _render_set_lax(operands: Operands) -> str:
    """jsonb_set, with its treatment of a new value that is NULL."""
    target, path, new, *rest = operands.sql
    create, treatment = (*rest, *["true", "'use_json_null'"][len(rest) :])
    must = 'null_value_treatment must be "delete_key", "return_target", "use_json_null", or "raise_exception"'
    error, null = (
        render_error("22023", quote_literal(must), "VARCHAR"),
        render_error("22004", "'JSON value must not be null'", "VARCHAR"),
    )
    return bind_values(
        lambda j, p, n, c, t: (
            f"(CASE WHEN {j} IS NULL OR {p} IS NULL OR {c} IS NULL THEN NULL WHEN {t} IS NULL THEN {error}"
            f" WHEN {n} IS NOT NULL THEN pg_jsonb_set({j}, {p}, {n}, {c}) WHEN {t} = 'raise_exception' THEN {null}"
            f" WHEN {t} = 'use_json_null' THEN pg_jsonb_set({j}, {p}, 'null', {c})"
            f" WHEN {t} = 'delete_key' THEN pg_jsonb_delete_path({j}, {p}) WHEN {t} = 'return_target' THEN {j}"
            f" ELSE {error} END)"
        ),
        target, path, new, create, treatment,
    )  # fmt: skip


declare("jsonb_set_lax", _render_set_lax)
declare("jsonb_insert", _add_default("pg_jsonb_insert", "false"))


def _compare_equal(sql: Sequence[str]) -> str:
    """Compares as text, after normalising numbers that can be spelt in several ways."""
    return " = ".join(render_equality_key(operand, JSONB) for operand in sql).join("()")


declare("jsonb_eq", lambda o: _compare_equal(o.sql))
for _name, _symbol in (("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">=")):
    declare(f"jsonb_{_name}", f"(pg_jsonb_order({{0}}) {_symbol} pg_jsonb_order({{1}}))")


def _compare(operands: Operands) -> str:
    return bind_values(
        lambda a, b: f"(CASE WHEN {a} < {b} THEN -1 WHEN {a} > {b} THEN 1 WHEN {a} = {b} THEN 0 END)",
        *(f"pg_jsonb_order({operand})" for operand in operands.sql),
    )


declare("jsonb_cmp", _compare)
declare("jsonb_ne", lambda o: f"(NOT {_compare_equal(o.sql)})")

# ---------------------------------------------------------------------------------------------- constructors


_DATETIMES = {
    "date": "pg_iso_date_text({})",
    "timestamp": "regexp_replace(pg_iso_timestamp_text({}), ' ', 'T')",  # the first blank; another one precedes BC
    "timestamptz": "pg_json_moment(pg_iso_timestamptz_text({}))",
}
"""Moments within JSON, whatever the session's DateStyle."""


def to_json(sql: str, scale: str, item: SqlType) -> str:
    """Returns a value's JSON text; NULL if it is NULL."""
    name = item.name
    if item.fields and item.element is None:
        return row_to_json(sql, item)
    if item.element is not None:
        item_type = item.item or item.element
        value, inner_scale = unpack("pg_e", item_type)
        inner = f"coalesce({to_json(value, inner_scale, item_type)}, 'null')"
        return bind_values(
            lambda v: (
                f"(CASE WHEN {v} IS NOT NULL THEN '[' ||"
                f" coalesce(array_to_string(list_transform({v}, lambda pg_e: {inner}), ','), '') || ']' END)"
            ),
            sql,
        )
    text = to_text(sql, scale, item)
    if item.wide:
        return bind_values(
            lambda v: f"(CASE WHEN suffix({v}, 'N') OR suffix({v}, 'y') THEN '\"' || {v} || '\"' ELSE {v} END)", text
        )
    if name in {"json", "jsonb", "bool", "numeric"} | INTEGERS:
        return text
    if name in {"float4", "float8"}:
        return bind_values(
            lambda v: (
                f"(CASE WHEN isfinite({v}) THEN {to_text(v, '0', item)}"
                f" ELSE '\"' || {to_text(v, '0', item)} || '\"' END)"
            ),
            sql,
        )
    if name in _DATETIMES:
        return bind_values(lambda v: f"('\"' || {_DATETIMES[name].format(v)} || '\"')", sql)
    if name in OIDS or name in {"time", "uuid", "interval"}:
        return f"('\"' || {text} || '\"')"
    return f"CAST(to_json({to_text(sql, scale, item, output=True)}) AS VARCHAR)"


def row_to_json(sql: str, item: SqlType, between: str = ",") -> str:
    """Returns a row as a JSON object of its fields."""

    def body(value: str) -> str:
        parts = []
        for index, (name, field) in enumerate(item.fields):
            text = to_json(*get_member(value, item, index), field)
            parts.append(f"{quote_literal(json.dumps(name, ensure_ascii=False) + ':')} || coalesce({text}, 'null')")
        members = f" || {quote_literal(between)} || ".join(parts)
        return f"(CASE WHEN {value} IS NOT NULL THEN '{{' || {members} || '}}' END)"

    return bind_values(body, sql)


def _row_to_json(operands: Operands) -> str:
    item = operands.types[0]
    if len(operands.sql) == 1 or operands.constants[1] is False:
        return row_to_json(operands.sql[0], item)
    is_compact, pretty = (row_to_json(operands.sql[0], item, between) for between in (",", ",\n "))
    return (
        pretty
        if operands.constants[1] is True
        else f"(CASE WHEN {operands.sql[1]} THEN {pretty} ELSE {is_compact} END)"
    )


declare("row_to_json(record) row_to_json(record,bool)", _row_to_json)


def _render_json(operands: Operands, index: int) -> str:
    json = to_json(operands.sql[index], operands.scales[index], operands.types[index])
    return f"coalesce({json}, 'null')"


_NO_KEY = "null value not allowed for object key"


def render_key_text(operands: Operands, index: int) -> str:
    """Returns the text of an object's key; 22023 for a type that cannot be one."""
    return key_to_text(operands.sql[index], operands.scales[index], operands.types[index])


def key_to_text(sql: str, scale: str, item: SqlType) -> str:
    """Returns a value's text as an object's key; 22023 for a type that cannot be one."""
    if item.element is not None or item.name in {"json", "jsonb"} or item.fields:
        message = "key value must be scalar, not array, composite, or json"
        raise SqlError.of("invalid_parameter_value", message)
    if item.name in _DATETIMES:
        return bind_values(lambda v: _DATETIMES[item.name].format(v), sql)
    return to_text(sql, scale, item, output=item.name != "bool")


def _render_key(operands: Operands, index: int, *, numbered: bool = False) -> str:
    """Returns an object's key; 22004 for NULL, or 22023 with the number of the argument."""
    error = render_error("22004", quote_literal(_NO_KEY), "VARCHAR")
    if numbered:
        error = render_error("22023", f"'argument {index + 1}: key must not be null'", "VARCHAR")
    return f"CAST(to_json({raise_if_null(render_key_text(operands, index), error)}) AS VARCHAR)"


def raise_if_null(text: str, error: str) -> str:
    """Returns a text, or an error if it is NULL. Without coalesce(), with which DuckDB would evaluate a shared
    error.
    """
    return bind_values(lambda v: f"(CASE WHEN {v} IS NULL THEN {error} ELSE {v} END)", text)


def _to_canonical(binary: bool, text: str) -> str:
    return f"pg_jsonb_in({text})" if binary else text


def _make_conversion(binary: bool) -> Callable[[Operands], str]:
    def render(operands: Operands) -> str:
        json = to_json(operands.sql[0], operands.scales[0], operands.types[0])
        return json if operands.types[0].name == "jsonb" else _to_canonical(binary, json)

    return render


def _render_pretty_array(operands: Operands) -> str:
    """Puts each element on its own line if the second operand says so."""
    element = operands.types[0].element
    assert element is not None
    value, inner_scale = unpack("pg_e", element)
    inner = f"coalesce({to_json(value, inner_scale, element)}, 'null')"
    between = f"CASE WHEN {operands.sql[1]} THEN ',' || chr(10) || ' ' ELSE ',' END"
    items = f"list_transform({operands.sql[0]}, lambda pg_e: {inner})"
    return bind_values(
        lambda v, t: f"(CASE WHEN {v} IS NOT NULL AND {t} IS NOT NULL THEN '[' || pg_join({v}, {t}) || ']' END)",
        items,
        f"(CASE WHEN {operands.sql[1]} IS NOT NULL THEN {between} END)",
    )


declare("to_json array_to_json(anyarray)", _make_conversion(False))
declare("array_to_json(anyarray,bool)", _render_pretty_array)
declare("to_jsonb", _make_conversion(True))


def make_array_builder(binary: bool) -> Callable[[Operands], str]:
    def render(operands: Operands) -> str:
        items = " || ', ' || ".join(_render_json(operands, index) for index in range(len(operands.sql)))
        return _to_canonical(binary, f"('[' || {items} || ']')" if items else "'[]'")

    return render


def _make_object_builder(binary: bool) -> Callable[[Operands], str]:
    def render(operands: Operands) -> str:
        if len(operands.sql) % 2:
            message = "argument list must have even number of elements"
            name = f"{'jsonb' if binary else 'json'}_build_object()"
            hint = f"The arguments of {name} must consist of alternating keys and values."
            raise SqlError.of("invalid_parameter_value", message, hint=hint)
        items = " || ', ' || ".join(
            f"{_render_key(operands, index, numbered=binary)} || ' : ' || {_render_json(operands, index + 1)}"
            for index in range(0, len(operands.sql), 2)
        )
        return _to_canonical(binary, f"('{{' || {items} || '}}')" if items else "'{}'")

    return render


def _make_array_aggregate(binary: bool, strict: bool) -> Callable[[Operands], str]:
    """json_agg; arrays and rows that are not NULL are on their own lines, except for the first value."""

    def render(operands: Operands) -> str:
        item = to_json(operands.sql[0], operands.scales[0], operands.types[0])
        lines = not binary and (operands.types[0].element is not None or bool(operands.types[0].fields))
        if lines:
            item = f"chr(10) || ' ' || {item}"
        if not strict:
            item = f"coalesce({item}, 'null')"
        items = operands.call("string_agg", item, "', '")
        if strict:
            items = f"(CASE WHEN {operands.call('count', '1')} > 0 THEN coalesce({items}, '') END)"
        if lines:
            items = f"regexp_replace({items}, '^\\n ', '')"
        return _to_canonical(binary, f"('[' || {items} || ']')")

    return render


def _make_object_aggregate(binary: bool, strict: bool, unique: bool) -> Callable[[Operands], str]:
    state, message = ("22023", "field name must not be null") if binary else ("22004", _NO_KEY)

    def render(operands: Operands) -> str:
        key, value = (
            render_key_text(operands, 0),
            to_json(operands.sql[1], operands.scales[1], operands.types[1]),
        )
        value = value if strict else f"coalesce({value}, 'null')"
        members = operands.call("string_agg", f"CAST(to_json({key}) AS VARCHAR) || ' : ' || {value}", "', '")
        if strict:
            members = f"coalesce({members}, '')"
        # a row excluded by FILTER raises nothing: errors are counted first and raised afterwards
        if unique:
            whens = f"WHEN NOT pg_json_unique({operands.call('list', key)}, {str(binary).lower()}) THEN NULL"
        else:
            unknown = operands.call("count", f"CASE WHEN {key} IS NULL THEN 1 END")
            whens = f"WHEN {unknown} > 0 THEN {render_error(state, quote_literal(message), 'VARCHAR')}"
        guarded = f"(CASE {whens} WHEN {operands.call('count', '1')} > 0 THEN {members} END)"
        return _to_canonical(binary, f"('{{ ' || {guarded} || ' }}')")

    return render


for _prefix, _binary in (("json", False), ("jsonb", True)):
    declare(f"{_prefix}_build_array", make_array_builder(_binary))
    declare(f"{_prefix}_build_object", _make_object_builder(_binary))
    for _suffix, _strict in (("", False), ("_strict", True)):
        declare(f"{_prefix}_agg{_suffix}", _make_array_aggregate(_binary, _strict))
        declare(f"{_prefix}_object_agg{_suffix}", _make_object_aggregate(_binary, _strict, False))
        declare(f"{_prefix}_object_agg_unique{_suffix}", _make_object_aggregate(_binary, _strict, True))
    declare(f"{_prefix}_object(_text)", f"pg_{_prefix}_object({{0}})")
    declare(f"{_prefix}_object(_text,_text)", f"pg_{_prefix}_object_of({{0}}, {{1}})")
