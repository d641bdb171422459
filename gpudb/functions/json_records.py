"""Rows from JSON objects: json_populate_record, json_to_record and similar functions (PostgreSQL's jsonfuncs.c).

A field parses its member's text as its type; an array parses an array's items, a row an object's members, and both also
a string that spells them. JSON's null is NULL; a field without a member keeps the value of the base row.
"""

from __future__ import annotations

from gpudb.errors import DatatypeMismatch, FeatureNotSupported
from gpudb.functions.casts import cast
from gpudb.functions.let_binding import bind_values, render_error
from gpudb.functions.operands import pack
from gpudb.functions.records import pack_record
from gpudb.functions.registry import Operands, declare
from gpudb.functions.text_literal import quote_literal
from gpudb.types import TEXT, SqlType

_AS_JSON = frozenset({"json", "jsonb"})


def _is_parsed_from_text(item: SqlType) -> bool:
    """Whether a value is parsed from its member's text, not from JSON."""
    return item.element is None and not item.fields and item.name not in _AS_JSON


def _render_row(json: str, item: SqlType, base: str | None) -> str:
    """Returns a row of the object `json`; the row `base` supplies the fields that the object lacks."""
    for name, field in item.fields:
        if field.domain is not None:
            raise FeatureNotSupported(f'reading field "{name}" of type {field} from JSON is not supported')
    names = ", ".join(quote_literal(name) for name, _ in item.fields)
    kinds = "".join("t" if _is_parsed_from_text(field) else "j" for _, field in item.fields)
    size = len(item.fields)

    def body(members: str, row: str) -> str:
        values = []
        for at, (_, field) in enumerate(item.fields, 1):
            value = _render_value(f"{members}[{at}]", field)
            if base is not None:
                base_field = f"struct_extract_at({row}, {at})"
                value = f"(CASE WHEN {members}[{size + at}] IS NULL THEN {base_field} ELSE {value} END)"
            values.append(value)
        return f"(CASE WHEN {members} IS NULL THEN {row} ELSE {pack_record(values, item)} END)"

    base_row = base if base is not None else f"CAST(NULL AS {item.duckdb})"
    return bind_values(body, f"pg_json_members({json}, [{names}], '{kinds}')", base_row)


def _render_value(sql: str, item: SqlType) -> str:
    """Returns a member as a value: `sql` is its text, or for arrays, rows and JSON its JSON."""
    if item.name in _AS_JSON:
        return sql if item.name == "json" else f"pg_jsonb_in({sql})"
    if _is_parsed_from_text(item):
        return pack(*cast(sql, "0", TEXT, item, False), item)

    def body(value: str) -> str:
        if item.dims > 1:
            refused = f"'a string as a value of type {item} with {item.dims} dimensions is not supported'"
            from_text = render_error("0A000", refused, item.duckdb)
        else:
            from_text = pack(*cast(f"pg_json_text({value})", "0", TEXT, item, False), item)
        inner = item.item
        if inner is None:
            read = _render_row(value, item, None)
        else:
            kind = "a" if inner.element is not None else "t" if _is_parsed_from_text(inner) else "j"
            read = f"list_transform(pg_json_items({value}, '{kind}'), lambda pg_j: {_render_value('pg_j', inner)})"
        return f"(CASE WHEN {value} IS NULL THEN NULL WHEN left({value}, 1) = '\"' THEN {from_text} ELSE {read} END)"

    return bind_values(body, sql)


def _get_target(operands: Operands, name: str) -> SqlType:
    item = operands.result
    if operands.types[0].domain is not None:
        raise FeatureNotSupported(f"{name} of a domain over a row type is not supported")
    if item.name != "record" and (item.user is None or item.user.kind != "c" or item.element is not None):
        raise DatatypeMismatch(f"first argument of {name} must be a row type")
    if not item.fields and name.endswith(("to_record", "to_recordset")):
        raise FeatureNotSupported("function returning record called in context that cannot accept type record")
    if not item.fields:
        call = "call the function in the FROM clause using a column definition list."
        hint = f"Provide a non-null record argument, or {call}"
        raise FeatureNotSupported(f"could not determine row type for result of {name}", hint=hint)
    return item


def _declare(name: str) -> None:
    populates = "populate" in name

    def base_type(operands: Operands) -> str | None:
        return operands.sql[0] if populates and operands.constants[0] is not None else None

    def one(operands: Operands) -> str:
        return _render_row(operands.sql[populates], _get_target(operands, name), base_type(operands))

    def several(operands: Operands) -> str:
        item, base = _get_target(operands, name), base_type(operands)
        objects = f"pg_json_objects({operands.sql[populates]}, '{name}')"
        return bind_values(
            lambda members, row: (
                f"list_transform({members}, lambda pg_o: {_render_row('pg_o', item, row if base else None)})"
            ),
            objects,
            base or "NULL",
        )

    declare(name, several if name.endswith("set") else one)


for _prefix in ("json", "jsonb"):
    for _stem in ("populate_record", "populate_recordset", "to_record", "to_recordset"):
        _declare(f"{_prefix}_{_stem}")
