"""Conversions between types, as DuckDB SQL with PostgreSQL's meaning: `cast` gives a value and its display scale."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gpudb.errors import FeatureNotSupported
from gpudb.functions.let import let, raises
from gpudb.functions.resolve import as_numeric
from gpudb.types import CARRIED_SCALE, MAX_DIGITS, TEXT, SqlType

Lanes = tuple[str, str]

INTEGERS = frozenset({"int2", "int4", "int8"})
FLOATS = frozenset({"float4", "float8"})
STRINGS = frozenset({"text", "varchar", "bpchar", "name", "char", "cstring", "unknown"})
OIDS = frozenset({"oid", "xid", "cid", "xid8"})
VECTORS = {"int2vector": "int2", "oidvector": "oid"}
_FLOAT_DIGITS = {"float4": 6, "float8": 15}
_MOMENTS = frozenset({"date", "time", "timestamp", "timestamptz", "interval"})
_TEXT_TYPES = STRINGS | {"json", "jsonb"}


def cast(sql: str, scale: str, source: SqlType, target: SqlType, explicit: bool) -> Lanes:
    """`sql` (a numeric's decimal alone, `scale` its display scale) as a value and display scale of `target`.

    `explicit` casts cut strings that are too long; others raise 22001. 0A000 for a pair that is not supported.
    """
    if source.name in STRINGS and target.name not in STRINGS:
        # What reads text mentions it several times: bound once, nested casts do not grow exponentially.
        if target.name != "numeric":
            return let(lambda v: _cast(v, scale, source, target, explicit)[0], sql), "0"
        value = let(lambda v: _to_numeric(v, scale, source, target)[0], sql)
        return value, let(lambda v: _to_numeric(v, scale, source, target)[1], sql)
    return _cast(sql, scale, source, target, explicit)


def _cast(sql: str, scale: str, source: SqlType, target: SqlType, explicit: bool) -> Lanes:
    if target.element is not None or source.element is not None:
        return _arrays(sql, source, target, explicit), "0"
    if target.name == "numeric":
        return _to_numeric(sql, scale, source, target)
    if target.name in STRINGS:
        return _to_string(sql, scale, source, target, explicit), "0"
    convert = _TO.get(target.name)
    if convert is None and target.name.startswith("reg"):
        convert = _to_registered
    made = convert(sql, scale, source, target) if convert is not None else None
    if made is None and source.name in STRINGS and target.duckdb == "VARCHAR":
        made = sql
    if made is None:
        raise FeatureNotSupported(f"cast from {source.plain} to {target.plain} is not supported")
    return made, "0"


# ---------------------------------------------------------------------------------------------- numbers


def _to_integer(sql: str, scale: str, source: SqlType, target: SqlType) -> str | None:
    if source.name == target.name:
        return sql
    if source.name in STRINGS - {"char"}:
        return f"pg_{target.name}_in({sql})"
    if source.name in INTEGERS | FLOATS:
        return f"CAST({sql} AS {target.duckdb})"
    if source.name == "numeric":
        if source.numeric_digits[0] - source.numeric_digits[1] < _SURE_DIGITS[target.name]:
            return f"CAST({sql} AS {target.duckdb})"
        wrong = raises("22003", f"'{target} out of range'", target.duckdb)
        return let(
            lambda v: f"coalesce(TRY_CAST({v} AS {target.duckdb}), CASE WHEN {v} IS NOT NULL THEN {wrong} END)", sql
        )
    if source.name == "char" and target.name == "int4":
        return f"CAST(ascii({sql}) AS INTEGER)"
    if source.name == "bool" and target.name == "int4":
        return f"CAST({sql} AS INTEGER)"
    if source.name == "jsonb":
        digits = _json_number(sql, target)
        return f"CAST(CAST({digits} AS DECIMAL({MAX_DIGITS},{CARRIED_SCALE})) AS {target.duckdb})"
    if source.name in OIDS or source.name.startswith("reg"):
        if target.name == "int4":
            return let(lambda v: f"CAST(CASE WHEN {v} > 2147483647 THEN {v} - 4294967296 ELSE {v} END AS INTEGER)", sql)
        return sql if target.name == "int8" else None
    return None


_SURE_DIGITS = {"int2": 4, "int4": 9, "int8": 18}


def _json_number(sql: str, target: SqlType) -> str:
    return f"pg_jsonb_scalar({sql}, 'numeric', '{target.plain}')"


def _to_float(sql: str, scale: str, source: SqlType, target: SqlType) -> str | None:
    if source.name == target.name:
        return sql
    if source.name in STRINGS:
        return f"pg_{target.name}_in({sql})"
    if source.name == "float8":
        over = raises("22003", "'value out of range: overflow'", "FLOAT")
        under = raises("22003", "'value out of range: underflow'", "FLOAT")
        return let(
            lambda v: (
                f"(CASE WHEN isfinite({v}) AND abs({v}) > 3.4028235677973366e38 THEN {over}"
                f" WHEN {v} <> 0 AND abs({v}) <= 7.006492321624085e-46 THEN {under} ELSE CAST({v} AS FLOAT) END)"
            ),
            sql,
        )
    if source.name == "numeric":
        # by its text: DuckDB divides the digits by a power of ten, which can miss the nearest double by one
        return (
            f"CAST(CAST({sql} AS VARCHAR) AS {target.duckdb})" if source.numeric_digits[0] > 15 else _plain(sql, target)
        )
    if source.name in INTEGERS | FLOATS:
        return _plain(sql, target)
    if source.name == "jsonb":
        return f"CAST({_json_number(sql, target)} AS {target.duckdb})"
    return None


def _plain(sql: str, target: SqlType) -> str:
    return f"CAST({sql} AS {target.duckdb})"


def _to_numeric(sql: str, scale: str, source: SqlType, target: SqlType) -> Lanes:
    """The value at the digits of the target; its display scale is known, or that of the source's value."""
    precision, decimals = target.numeric_digits
    held = f"DECIMAL({precision},{decimals})"
    shown = str(decimals)
    if source.name == "numeric":
        if source.numeric_digits == target.numeric_digits:
            return sql, scale if target.carried else shown
        return _fitted(sql, source, target), scale if target.carried else shown
    if source.name in INTEGERS:
        digits = as_numeric(source)
        return _fitted(sql, digits, target), "0" if target.carried else shown
    if source.name in FLOATS:
        wanted = _FLOAT_DIGITS[source.name]
        text = f"pg_float_digits({sql}, {wanted})"
        return _from_digits(text, held, target), (
            f"least(pg_float_decimals({sql}, {wanted}), {decimals})" if target.carried else shown
        )
    if source.name in STRINGS:
        text = f"pg_numeric_in({sql})"
        return _from_digits(text, held, target), (
            f"least(pg_decimals({text}), {decimals})" if target.carried else shown
        )
    if source.name == "jsonb":
        text = f"pg_numeric_in({_json_number(sql, target)})"
        return _from_digits(text, held, target), (
            f"least(pg_decimals({text}), {decimals})" if target.carried else shown
        )
    raise FeatureNotSupported(f"cast from {source.plain} to {target.plain} is not supported")


def _overflow(held: str, target: SqlType) -> str:
    message = "'value overflows numeric format'" if target.modifier == -1 else "'numeric field overflow'"
    return raises("22003", message, held)


def _from_digits(text: str, held: str, target: SqlType) -> str:
    wrong = _overflow(held, target)
    return let(lambda t: f"coalesce(TRY_CAST({t} AS {held}), CASE WHEN {t} IS NOT NULL THEN {wrong} END)", text)


def _fitted(sql: str, source: SqlType, target: SqlType) -> str:
    """A decimal or integer at the target's digits, rounded half away from zero; 22003 where it does not fit."""
    precision, decimals = target.numeric_digits
    held = f"DECIMAL({precision},{decimals})"
    digits, given = source.numeric_digits
    rounds = 1 if decimals < given else 0
    if digits - given + rounds <= precision - decimals:
        return f"CAST({sql} AS {held})"
    wrong = _overflow(held, target)
    return let(lambda v: f"coalesce(TRY_CAST({v} AS {held}), CASE WHEN {v} IS NOT NULL THEN {wrong} END)", sql)


def _to_bool(sql: str, scale: str, source: SqlType, target: SqlType) -> str | None:
    if source.name == "bool":
        return sql
    if source.name in STRINGS:
        return f"pg_bool_in({sql})"
    if source.name == "int4":
        return f"CAST({sql} AS BOOLEAN)"
    if source.name == "jsonb":
        return f"CAST(pg_jsonb_scalar({sql}, 'boolean', 'boolean') AS BOOLEAN)"
    return None


# ---------------------------------------------------------------------------------------------- text


def text_of(sql: str, scale: str, source: SqlType, *, output: bool = False) -> str:
    """A value's text: as a cast gives it, or (`output`) as its output function prints it."""
    name = source.name
    if source.element is not None:
        return array_text(sql, source.element)
    if name == "bpchar" and output and source.length is not None:
        return f"rpad({sql}, {source.length}, ' ')"
    if name in _TEXT_TYPES:
        return sql
    if name in INTEGERS | OIDS:
        return f"CAST({sql} AS VARCHAR)"
    if name == "bool":
        words = ("'t'", "'f'") if output else ("'true'", "'false'")
        return let(lambda v: f"(CASE WHEN {v} THEN {words[0]} WHEN NOT {v} THEN {words[1]} END)", sql)
    if name == "numeric":
        held = source.numeric_digits[1]
        if scale == str(held):
            return f"CAST({sql} AS VARCHAR)"
        return f"pg_numeric_text({sql}, {held}, {scale})"
    if name in {"float4", "float8", "date", "timestamp", "timestamptz", "interval", "bytea"}:
        return let(lambda v: f"pg_{name}_text({v})", sql)
    if name in {"time", "uuid"}:
        return f"CAST({sql} AS VARCHAR)"
    if name.startswith("reg"):
        return f"pg_{name}_name({sql})"
    if name in VECTORS:
        return f"array_to_string({sql}, ' ')"
    if source.duckdb == "VARCHAR":
        return sql
    raise FeatureNotSupported(f"cast from {source.plain} to text is not supported")


def _to_string(sql: str, scale: str, source: SqlType, target: SqlType, explicit: bool) -> str:
    # A cast of an array or a record goes through its output function, as every type without a cast of its own
    text = text_of(sql, scale, source, output=target.name in {"name", "char"})
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
    wrong = raises("22001", f"'value too long for type {target}'", "VARCHAR")
    kept: Callable[[str], str] = (
        (lambda v: f"rtrim({v}, ' ')") if target.name == "bpchar" else (lambda v: f"left({v}, {length})")
    )
    return let(
        lambda v: (
            f"(CASE WHEN length(rtrim({v}, ' ')) > {length} THEN {wrong} ELSE {kept(v)} END)"
            if target.name == "bpchar"
            else f"(CASE WHEN length({v}) <= {length} THEN {v} WHEN length(rtrim({v}, ' ')) > {length} THEN {wrong}"
            f" ELSE {kept(v)} END)"
        ),
        text,
    )


def array_text(sql: str, element: SqlType) -> str:
    """An array's text, `{1,NULL,"a b"}`."""
    value, scale = opened("pg_e", element)
    text = text_of(value, scale, element, output=True)
    item = text if element.name in _UNQUOTED else f"pg_array_item({text})"
    listed = f"list_transform({{}}, lambda pg_e: CASE WHEN {value} IS NULL THEN 'NULL' ELSE {item} END)"
    return let(
        lambda v: f"(CASE WHEN {v} IS NOT NULL THEN '{{' || array_to_string({listed.format(v)}, ',') || '}}' END)", sql
    )


_UNQUOTED = INTEGERS | OIDS | FLOATS | {"numeric", "bool", "date", "time", "uuid"}


# ---------------------------------------------------------------------------------------------- arrays


def opened(sql: str, item: SqlType) -> Lanes:
    """The lanes of one value of `SqlType.duckdb`."""
    if item.carried:
        return f"({sql}).v", f"({sql}).s"
    return sql, str(item.numeric_digits[1]) if item.name == "numeric" else "0"


def joined(value: str, scale: str, item: SqlType) -> str:
    """One value of `SqlType.duckdb` from its lanes."""
    return f"struct_pack(v := {value}, s := CAST({scale} AS TINYINT))" if item.carried else value


def _arrays(sql: str, source: SqlType, target: SqlType, explicit: bool) -> str:
    wanted = target.element
    if wanted is None:
        assert source.element is not None
        if target.name in STRINGS:
            return _to_string(array_text(sql, source.element), "0", TEXT, target, explicit)
        if target.name in VECTORS:
            return f"CAST({sql} AS {target.duckdb})"
        raise FeatureNotSupported(f"cast from {source.plain} to {target.plain} is not supported")
    given = source.element
    if given is None and source.name in VECTORS:
        given = SqlType(VECTORS[source.name])
    elif given is None and source.name in STRINGS:
        sql, given, explicit = f"pg_array_in({sql})", TEXT, False
    elif given is None:
        raise FeatureNotSupported(f"cast from {source.plain} to {target.plain} is not supported")
    if given.duckdb == wanted.duckdb and (given == wanted or given.plain == wanted) and given.name == wanted.name:
        return sql
    value, scale = opened("pg_e", given)
    made = joined(*cast(value, scale, given, wanted, explicit), wanted)
    return f"list_transform({sql}, lambda pg_e: {made})"


# ---------------------------------------------------------------------------------------------- dates and times


def _to_date(sql: str, scale: str, source: SqlType, target: SqlType) -> str | None:
    if source.name in STRINGS:
        return f"pg_date_in({sql})"
    return (
        _plain(sql, target) if source.name in {"timestamp", "timestamptz"} else sql if source.name == "date" else None
    )


def _to_time(sql: str, scale: str, source: SqlType, target: SqlType) -> str | None:
    if source.name in STRINGS:
        made = f"pg_time_in({sql})"
    elif source.name in {"timestamp", "timestamptz"}:
        made = f"CAST(CAST({sql} AS TIMESTAMP) AS TIME)"
    elif source.name == "interval":
        made = f"pg_interval_time({sql})"
    elif source.name == "time":
        made = sql
    else:
        return None
    if target.modifier in {-1, 6} or (source.name == "time" and source.modifier == target.modifier):
        return made
    return f"pg_make_time(pg_round_us(pg_time_us({made}), {target.modifier}))"


def _to_timestamp(sql: str, scale: str, source: SqlType, target: SqlType) -> str | None:
    if source.name in STRINGS:
        made = f"pg_{target.name}_in({sql})"
    elif source.name in {"date", "timestamp", "timestamptz"}:
        made = sql if source.name == target.name else _plain(sql, target)
    else:
        return None
    if target.modifier in {-1, 6} or (source.name == target.name and source.modifier == target.modifier):
        return made
    return f"pg_round_{target.name}({made}, {target.modifier})"


def _to_interval(sql: str, scale: str, source: SqlType, target: SqlType) -> str | None:
    if source.name in STRINGS:
        made = f"pg_interval_in({sql})"
    elif source.name == "time":
        made = f"to_microseconds(pg_time_us({sql}))"
    elif source.name == "interval":
        made = sql
    else:
        return None
    return _limited(made, target.modifier) if target.modifier != -1 else made


_MONTH, _YEAR, _DAY, _HOUR, _MINUTE, _SECOND = (1 << bit for bit in (1, 2, 3, 10, 11, 12))
_ALL_FIELDS = 0x7FFF
_FIELD_UNITS = ((_SECOND, 0), (_MINUTE, 60_000_000), (_HOUR, 3_600_000_000))


def _limited(sql: str, modifier: int) -> str:
    """An interval cut to the fields that `interval day to minute` names, seconds rounded (AdjustIntervalForTypmod)."""
    fields, precision = modifier >> 16, modifier & 0xFFFF
    months, days, micros = "pg_interval_months({0})", "pg_interval_days({0})", "pg_interval_us({0})"
    if fields not in {_ALL_FIELDS, -1}:
        finest = next((unit for bit, unit in _FIELD_UNITS if fields & bit), None)
        if finest is None:
            micros = "0"
            if not fields & _DAY:
                days = "0"
                if not fields & _MONTH:
                    months = f"({months} // 12 * 12)"
        elif finest:
            micros = f"({micros} // {finest} * {finest})"
    if precision < 6 and micros != "0":
        micros = f"pg_round_us({micros}, {precision})"
    return let(lambda v: f"pg_make_interval({months}, {days}, {micros})".format(v), sql)


# ---------------------------------------------------------------------------------------------- the rest


def _to_bytea(sql: str, scale: str, source: SqlType, target: SqlType) -> str | None:
    if source.name == "bpchar":
        sql = text_of(sql, scale, source, output=True)
    return f"pg_bytea_in({sql})" if source.name in STRINGS else sql if source.name == "bytea" else None


def _to_uuid(sql: str, scale: str, source: SqlType, target: SqlType) -> str | None:
    return f"CAST(pg_uuid_in({sql}) AS UUID)" if source.name in STRINGS else sql if source.name == "uuid" else None


def _to_json(sql: str, scale: str, source: SqlType, target: SqlType) -> str | None:
    if source.name == target.name or (source.name == "jsonb" and target.name == "json"):
        return sql
    return f"pg_{target.name}_in({sql})" if source.name in STRINGS | {"json"} else None


def _to_oid(sql: str, scale: str, source: SqlType, target: SqlType) -> str | None:
    if source.name in STRINGS:
        return f"pg_oid_in({sql})"
    if source.name == "int8":
        wrong = raises("22003", "'OID out of range'", "BIGINT")
        return let(lambda v: f"(CASE WHEN {v} < 0 OR {v} > 4294967295 THEN {wrong} ELSE {v} END)", sql)
    if source.name in INTEGERS:
        return f"(CAST({sql} AS BIGINT) & 4294967295)"
    return sql if source.duckdb == "BIGINT" else None


def _to_registered(sql: str, scale: str, source: SqlType, target: SqlType) -> str | None:
    if source.name in STRINGS:
        return f"pg_to_{target.name}({sql})"
    return _to_oid(sql, scale, source, target)


def _to_vector(sql: str, scale: str, source: SqlType, target: SqlType) -> str | None:
    if source.name in STRINGS:
        return f"list_transform(string_split(trim({sql}), ' '), lambda pg_e: CAST(pg_e AS BIGINT))::{target.duckdb}"
    return sql if source.name == target.name else None


_TO: dict[str, Callable[[str, str, SqlType, SqlType], str | None]] = {
    **dict.fromkeys(INTEGERS, _to_integer),
    **dict.fromkeys(FLOATS, _to_float),
    **dict.fromkeys(OIDS, _to_oid),
    **dict.fromkeys(VECTORS, _to_vector),
    "bool": _to_bool,
    "date": _to_date,
    "time": _to_time,
    "timestamp": _to_timestamp,
    "timestamptz": _to_timestamp,
    "interval": _to_interval,
    "bytea": _to_bytea,
    "uuid": _to_uuid,
    "json": _to_json,
    "jsonb": _to_json,
}


def element_cast(sql: str, source: SqlType, target: SqlType) -> str:
    """A whole value (`SqlType.duckdb`) of one type as a whole value of another."""
    value, scale = opened(sql, source)
    return joined(*cast(value, scale, source, target, False), target)


def without_modifier(item: SqlType) -> SqlType:
    """The type of a value once its length or precision is forgotten; a numeric keeps its digits."""
    return item if item.name == "numeric" else replace(item, modifier=-1)
