"""Values as text: the result of a cast to text, and of their output functions."""

from __future__ import annotations

from collections.abc import Callable

from gpudb.errors import FeatureNotSupported
from gpudb.functions.inet import NETWORKS, format_network
from gpudb.functions.let_binding import bind_values, call_lookup, render_error
from gpudb.functions.operands import unpack
from gpudb.functions.range_text import format_range
from gpudb.functions.records import get_member
from gpudb.functions.wide_casts import to_wide_struct
from gpudb.types import MAX_DIGITS, SqlType
from gpudb.types.facts import FLOATS, GEOMETRIC, INTEGERS, OIDS, STRINGS, VECTORS

_TEXT_TYPES = STRINGS | {"json", "jsonb"}


def to_text(sql: str, scale: str, source: SqlType, *, output: bool = False) -> str:
    """Returns a value's text: that of a cast, or with `output` that of its output function."""
    name = source.name
    if source.element is not None:
        return format_array(sql, source)
    if source.fields:
        return format_record(sql, source)
    if source.subtype is not None:
        return format_range(sql, scale, source, lambda v, s, item: to_text(v, s, item, output=True))
    if (ranged := source.range_type) is not None:
        range_text_ = to_text(*unpack("pg_e", ranged), ranged, output=True)
        multirange_text = (
            f"'{{' || coalesce(array_to_string(list_transform({sql}, lambda pg_e: {range_text_}), ','), '') || '}}'"
        )
        return f"(CASE WHEN {sql} IS NOT NULL THEN {multirange_text} END)"
    if name in NETWORKS:
        return format_network(sql, source, output)
    if output and source.padded_length is not None:
        return f"rpad({sql}, {source.padded_length}, ' ')"
    if name in _TEXT_TYPES:
        return sql
    if name in INTEGERS | OIDS:
        return f"CAST({sql} AS VARCHAR)"
    if name == "bool":
        words = ("'t'", "'f'") if output else ("'true'", "'false'")
        return bind_values(lambda v: f"(CASE WHEN {v} THEN {words[0]} WHEN NOT {v} THEN {words[1]} END)", sql)
    if name == "numeric" and source.wide:
        return f"pg_wide_text({to_wide_struct(sql, scale, source)})"
    if name == "numeric":
        precision, stored_scale = source.numeric_digits
        text = f"CAST({sql} AS VARCHAR)"
        if stored_scale == precision:  # only fraction digits: DuckDB omits the zero before the point
            text = rf"regexp_replace({text}, '^(-?)\.', '\1' || '0.')"
        return text if scale == str(stored_scale) else f"pg_numeric_text({text}, {stored_scale}, {scale})"
    if name in {"float4", "float8", "date", "timestamp", "timestamptz", "timetz", "money", "tid", "interval", "bytea"}:
        return bind_values(lambda v: f"pg_{name}_text({v})", sql)
    if name == "matrix":
        return f"pg_matrix_text({sql})"
    if name in GEOMETRIC:
        return f"pg_geo_text_{name}({sql})"
    if name in {"time", "uuid"}:
        return f"CAST({sql} AS VARCHAR)"
    if name.startswith("reg"):
        return call_lookup(f"pg_{name}_name", sql)
    if source.labels is not None:
        return f"CAST({sql} AS VARCHAR)"
    if name in {"vector", "halfvec", "sparsevec"}:
        return f"pg_{name}_text({sql})"
    if name in VECTORS:
        return f"array_to_string({sql}, ' ')"
    if source.duckdb == "VARCHAR":
        return sql
    raise FeatureNotSupported(f"cast from {source.plain} to text is not supported")


def _format_decimal(sql: str, digits: tuple[int, int]) -> str:
    """Returns a decimal's digits; DuckDB omits the zero before the point if the type has no room for it."""
    precision, scale = digits
    if precision == scale == MAX_DIGITS:
        return f"regexp_replace(CAST({sql} AS VARCHAR), '^(-?)[.]', '\\10.')"
    widened = sql if precision > scale else f"CAST({sql} AS DECIMAL({scale + 1},{scale}))"
    return f"CAST({widened} AS VARCHAR)"


def to_string(sql: str, scale: str, source: SqlType, target: SqlType, explicit: bool) -> str:
    # A cast of an array or a record uses its output function, as for every type without a cast of its own
    printed = target.name == "char" or (target.name == "name" and source.name != "bpchar")
    text = to_text(sql, scale, source, output=printed)
    if target.name == "char":
        return f"pg_char_of({sql})" if source.name == "int4" else f"left({text}, 1)"
    if target.name == "name":
        return text if source.name == "name" else f"pg_name_in({text})"
    length = target.length if target.name in {"varchar", "bpchar"} else None
    blank = target.name == "bpchar" and source.name != "bpchar"
    if length is None:
        return f"rtrim({text}, ' ')" if blank else text
    if source.name == target.name and source.length is not None and source.length <= length:
        return text
    if explicit:
        cut = f"left({text}, {length})"
        return f"rtrim({cut}, ' ')" if target.name == "bpchar" else cut
    error = render_error("22001", f"'value too long for type {target}'", "VARCHAR")
    fit: Callable[[str], str] = (
        (lambda v: f"rtrim({v}, ' ')") if target.name == "bpchar" else (lambda v: f"left({v}, {length})")
    )
    return bind_values(
        lambda v: (
            f"(CASE WHEN length(rtrim({v}, ' ')) > {length} THEN {error} ELSE {fit(v)} END)"
            if target.name == "bpchar"
            else f"(CASE WHEN length({v}) <= {length} THEN {v} WHEN length(rtrim({v}, ' ')) > {length} THEN {error}"
            f" ELSE {fit(v)} END)"
        ),
        text,
    )


def format_record(sql: str, source: SqlType) -> str:
    """Returns a row's text, `(1,,"a b")`."""

    def body(value: str) -> str:
        items = []
        for index, (_, item) in enumerate(source.fields):
            text = to_text(*get_member(value, source, index), item, output=True)
            items.append(f"coalesce({text}, '')" if item.name in _UNQUOTED - {"box"} else f"pg_record_item({text})")
        fields_text = " || ',' || ".join(items)
        return f"(CASE WHEN {value} IS NOT NULL THEN '(' || {fields_text} || ')' END)"

    return bind_values(body, sql)


def format_array(sql: str, item: SqlType) -> str:
    """Returns an array's text, `{1,NULL,"a b"}` or `{{1,2},{3,4}}`."""
    element = item.element
    assert element is not None
    if item.dims > 1 and item.item is not None:
        item_sql = format_array("pg_e", item.item)
        # PostgreSQL has no array of empty arrays
        empty = f"len({{}}) > 0 AND len({'flatten(' * (item.dims - 1)}{{}}{')' * (item.dims - 1)}) = 0"
        return bind_values(
            lambda v: (
                f"(CASE WHEN {empty.format(v, v)} THEN '{{}}' WHEN {v} IS NOT NULL THEN"
                f" '{{' || array_to_string(list_transform({v}, lambda pg_e: {item_sql}), '{item.delimiter}')"
                " || '}' END)"
            ),
            sql,
        )
    value, scale = unpack("pg_e", element)
    text = to_text(value, scale, element, output=True)
    quoted = text if element.name in _UNQUOTED else f"pg_array_item({text})"
    item_text = f"CASE WHEN {value} IS NULL THEN 'NULL' ELSE {quoted} END"
    return bind_values(
        lambda v: (
            f"(CASE WHEN {v} IS NOT NULL THEN"
            f" '{{' || array_to_string(list_transform({v}, lambda pg_e: {item_text}), '{item.delimiter}') || '}}' END)"
        ),
        sql,
    )


_UNQUOTED = INTEGERS | OIDS | FLOATS | {"numeric", "bool", "time", "uuid", "box"}
