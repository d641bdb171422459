"""Conversions between types as DuckDB SQL with PostgreSQL's meaning: `cast` returns a value and its display scale."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from gpudb.errors import FeatureNotSupported
from gpudb.functions.bit_strings import BITS, from_bits, to_bits
from gpudb.functions.cast_datetimes import to_date, to_interval, to_time, to_timestamp
from gpudb.functions.cast_numbers import to_bool, to_float, to_integer, to_numeric
from gpudb.functions.geometry import to_geometry
from gpudb.functions.inet import to_network
from gpudb.functions.let_binding import bind_values, call_lookup, render_error
from gpudb.functions.matrix_casts import from_matrix, to_matrix
from gpudb.functions.money import to_money
from gpudb.functions.multirange_lists import from_range
from gpudb.functions.operands import ScaledSql, pack, unpack
from gpudb.functions.range_text import parse_range
from gpudb.functions.records import convert_record, pack_record
from gpudb.functions.row_addresses import to_tid
from gpudb.functions.text_literal import quote_literal
from gpudb.functions.text_search import VALUES, to_text_search
from gpudb.functions.timetz import to_timetz
from gpudb.functions.to_text import format_array, to_string, to_text
from gpudb.functions.vector_casts import convert_vector
from gpudb.types import TEXT, SqlType
from gpudb.types.facts import FLOATS, GEOMETRIC, INTEGERS, OIDS, STRINGS, VECTORS


def cast(sql: str, scale: str, source: SqlType, target: SqlType, explicit: bool) -> ScaledSql:
    """Converts `sql` (a numeric's decimal alone, `scale` its display scale) to a value and display scale of `target`.

    `explicit` casts truncate strings that are too long; others raise 22001. 0A000 for an unsupported pair of types.
    """
    if source.name in STRINGS and target.name not in STRINGS:
        # Parsers of text mention it several times: bound once, nested casts do not grow exponentially.
        if target.subtype is not None:
            packed_value = bind_values(lambda v: parse_range(v, target), sql)
            return unpack(packed_value, target)
        if target.range_type is not None:
            return bind_values(lambda v: parse_range(v, target), sql), "0"
        if target.name.startswith("reg"):
            # A look-up of an object is a subquery, which a lambda may not contain.
            return _cast(sql, scale, source, target, explicit)
        if target.name == "numeric" and target.wide:
            return to_numeric(sql, scale, source, target)
        if target.name != "numeric":
            return bind_values(lambda v: _cast(v, scale, source, target, explicit)[0], sql), "0"
        value = bind_values(lambda v: to_numeric(v, scale, source, target)[0], sql)
        return value, bind_values(lambda v: to_numeric(v, scale, source, target)[1], sql)
    return _cast(sql, scale, source, target, explicit)


def _cast(sql: str, scale: str, source: SqlType, target: SqlType, explicit: bool) -> ScaledSql:
    if (converted := convert_vector(sql, source, target)) is not None:
        return converted, "0"
    if target.element is not None or source.element is not None:
        return _cast_arrays(sql, source, target, explicit), "0"
    if target.fields and target.element is None:
        return to_record(sql, source, target, explicit), "0"
    if target.labels is not None and source.user != target.user:
        return to_enum(sql, source, target), "0"
    if target.name == "numeric":
        return to_numeric(sql, scale, source, target)
    if target.name in STRINGS:
        return to_string(sql, scale, source, target, explicit), "0"
    if target.name in BITS and (converted := to_bits(sql, source, target, explicit)) is not None:
        return converted, "0"
    if source.name in BITS and target.name in {"int4", "int8"}:
        return from_bits(sql, target), "0"
    if (
        target.name in {"inet", "cidr", "macaddr", "macaddr8"}
        and (converted := to_network(sql, source, target)) is not None
    ):
        return converted, "0"
    if target.name == "money" and (converted := to_money(sql, source)) is not None:
        return converted, "0"
    if target.name == "tid" and (converted := to_tid(sql, source)) is not None:
        return converted, "0"
    if target.name in VALUES and (converted := to_text_search(sql, source, target)) is not None:
        return converted, "0"
    if target.name == "matrix" and (converted := to_matrix(sql, source)) is not None:
        return converted, "0"
    if target.name in GEOMETRIC and (converted := to_geometry(sql, source, target)) is not None:
        return converted, "0"
    if target.name == "timetz" and (converted := to_timetz(sql, source, target)) is not None:
        return converted, "0"
    if target.subtype is not None and source.name == target.name:
        return sql, scale
    if target.range_type is not None and source.name in {target.name, target.range_type.name}:
        return sql if source.name == target.name else from_range(sql, scale, source), "0"
    convert = _CONVERTERS.get(target.name)
    if convert is None and target.name.startswith("reg"):
        convert = _to_registered
    converted = convert(sql, scale, source, target) if convert is not None else None
    if converted is None and source.user is not None and source.name == target.name:
        converted = sql
    if converted is None and source.name in STRINGS and target.duckdb == "VARCHAR":
        converted = sql
    if converted is None:
        raise FeatureNotSupported(f"cast from {source.plain} to {target.plain} is not supported")
    return converted, "0"


def to_record(sql: str, source: SqlType, target: SqlType, explicit: bool) -> str:
    """Converts a row to another row type field by field, or from text."""
    if source.fields:
        if [field_type for _, field_type in source.fields] == [field_type for _, field_type in target.fields]:
            return (
                sql
                if source.members == target.members
                else convert_record(sql, source, target, lambda v, s, *_: (v, s))
            )
        return convert_record(
            sql, source, target, lambda v, s, source_type, target_type: cast(v, s, source_type, target_type, explicit)
        )
    if source.name not in STRINGS:
        raise FeatureNotSupported(f"cast from {source.plain} to {target.plain} is not supported")

    def read(value: str) -> str:
        fields = []
        for index, (_, target_type) in enumerate(target.fields):
            fields.append(pack(*cast(f"{value}[{index + 1}]", "0", TEXT, target_type, False), target_type))
        return f"(CASE WHEN {value} IS NOT NULL THEN {pack_record(fields, target)} END)"

    return bind_values(read, f"pg_record_in({sql}, {len(target.fields)})")


def to_enum(sql: str, source: SqlType, target: SqlType) -> str:
    """Returns an enum's label from its text; 22P02 for any other text."""
    if source.name not in STRINGS:
        raise FeatureNotSupported(f"cast from {source.plain} to {target.plain} is not supported")
    start = quote_literal(f'invalid input value for enum {target.user}: "')
    return bind_values(
        lambda v: (
            f"coalesce(TRY_CAST({v} AS {target.duckdb}), CASE WHEN {v} IS NOT NULL THEN "
            + render_error("22P02", start + f" || {v} || " + quote_literal('"'), target.duckdb)
            + " END)"
        ),
        sql,
    )


_NAME = re.compile(r'[\w."]+')

LOOKED_UP = frozenset(
    "regclass regcollation regconfig regdictionary regnamespace regoper regoperator regproc regprocedure regrole "
    "regtype".split()
)
"""Types whose values are shown by a look-up in the system catalog."""


def _cast_arrays(sql: str, source: SqlType, target: SqlType, explicit: bool) -> str:
    target_element = target.element
    if source.name == "matrix" and (converted := from_matrix(sql, target)) is not None:
        return converted
    if target.name == "matrix" and (converted := to_matrix(sql, source)) is not None:
        return converted
    if target_element is None:
        assert source.element is not None
        if target.name in STRINGS:
            return to_string(format_array(sql, source), "0", TEXT, target, explicit)
        if target.name in VECTORS:
            return f"CAST({sql} AS {target.duckdb})"
        raise FeatureNotSupported(f"cast from {source.plain} to {target.plain} is not supported")
    source_element = source.element
    if source_element is None and source.name in VECTORS:
        source_element = SqlType(VECTORS[source.name])
    elif source_element is None and source.name in STRINGS:
        reader = "pg_array_in" if target.delimiter == "," else "pg_box_array_in"
        sql, source, source_element = f"{reader}_{target.dims}({sql})", replace(TEXT.array, dims=target.dims), TEXT
    elif source_element is None:
        raise FeatureNotSupported(f"cast from {source.plain} to {target.plain} is not supported")
    if source_element.duckdb == target_element.duckdb and target_element in {
        source_element,
        source_element.plain,
        source_element.without_modifier,
    }:
        return sql
    value, scale = unpack("pg_e", source_element)
    if LOOKED_UP & {source_element.name, target_element.name} and source.dims <= 1:
        # names and OIDs of objects are looked up by subqueries, which a lambda cannot have
        item = pack(*cast(value, scale, source_element, target_element, explicit), target_element)
        if item == value and source_element.duckdb == target_element.duckdb:
            return sql
        of = f"unnest({sql})"
        if not _NAME.fullmatch(sql):  # it may have a subquery, which a table function's argument cannot have either
            of = f"(SELECT {sql} AS pg_a) AS pg_s, unnest(pg_s.pg_a)"
        items = f"SELECT list({item} ORDER BY pg_i) FROM {of} WITH ORDINALITY AS pg_l(pg_e, pg_i)"
        return f"(CASE WHEN {sql} IS NOT NULL THEN coalesce(({items}), []) END)"
    convert = f"lambda pg_e: {pack(*cast(value, scale, source_element, target_element, explicit), target_element)}"
    for _ in range(source.dims - 1):
        convert = f"lambda pg_e: list_transform(pg_e, {convert})"
    return f"list_transform({sql}, {convert})"


def _to_bytea(sql: str, scale: str, source: SqlType, target: SqlType) -> str | None:
    if source.name == "bpchar":
        sql = to_text(sql, scale, source, output=True)
    return f"pg_bytea_in({sql})" if source.name in STRINGS else sql if source.name == "bytea" else None


def _to_uuid(sql: str, scale: str, source: SqlType, target: SqlType) -> str | None:
    return f"CAST(pg_uuid_in({sql}) AS UUID)" if source.name in STRINGS else sql if source.name == "uuid" else None


def _to_json(sql: str, scale: str, source: SqlType, target: SqlType) -> str | None:
    if source.name == target.name or (source.name == "jsonb" and target.name == "json"):
        return sql
    return f"pg_{target.name}_in({sql})" if source.name in STRINGS | {"json"} else None


def _to_jsonpath(sql: str, scale: str, source: SqlType, target: SqlType) -> str | None:
    return f"pg_jsonpath_in({sql})" if source.name in STRINGS else sql if source.name == "jsonpath" else None


def _to_oid(sql: str, scale: str, source: SqlType, target: SqlType) -> str | None:
    if source.name in STRINGS:
        return f"pg_oid_in({sql})"
    if source.name == "int8":
        error = render_error("22003", "'OID out of range'", "BIGINT")
        return bind_values(lambda v: f"(CASE WHEN {v} < 0 OR {v} > 4294967295 THEN {error} ELSE {v} END)", sql)
    if source.name in INTEGERS:
        return f"(CAST({sql} AS BIGINT) & 4294967295)"
    return sql if source.duckdb == "BIGINT" else None


def _to_registered(sql: str, scale: str, source: SqlType, target: SqlType) -> str | None:
    if source.name in STRINGS:
        if target.name in ("regoper", "regoperator"):
            raise FeatureNotSupported(f"the name of an operator as {target.name} is not supported")
        if target.name == "regclass" and source.name not in ("unknown", "cstring"):
            return call_lookup("pg_to_regrelation", sql)  # a text has a cast of its own, a literal the input function
        return call_lookup(f"pg_to_{target.name}", sql)
    return _to_oid(sql, scale, source, target)


def _to_vector(sql: str, scale: str, source: SqlType, target: SqlType) -> str | None:
    if source.name in STRINGS:
        return f"list_transform(string_split(trim({sql}), ' '), lambda pg_e: CAST(pg_e AS BIGINT))::{target.duckdb}"
    return sql if source.name == target.name else None


_CONVERTERS: dict[str, Callable[[str, str, SqlType, SqlType], str | None]] = {
    **dict.fromkeys(INTEGERS, to_integer),
    **dict.fromkeys(FLOATS, to_float),
    **dict.fromkeys(OIDS, _to_oid),
    **dict.fromkeys(VECTORS, _to_vector),
    "bool": to_bool,
    "date": to_date,
    "time": to_time,
    "timestamp": to_timestamp,
    "timestamptz": to_timestamp,
    "interval": to_interval,
    "bytea": _to_bytea,
    "uuid": _to_uuid,
    "json": _to_json,
    "jsonb": _to_json,
    "jsonpath": _to_jsonpath,
}
