"""Arrays, represented as DuckDB lists; NULL elements compare as in PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gpudb.errors import SqlError
from gpudb.functions.casts import cast
from gpudb.functions.dimensions import (
    compared,
    count,
    dims_text,
    flat,
    gathered,
    length,
    lower,
    subscripts,
)
from gpudb.functions.dimensions import pack as joined_arrays
from gpudb.functions.equality import key, order, unmerged
from gpudb.functions.let_binding import let, raises
from gpudb.functions.operands import pack
from gpudb.functions.registry import Operands, declare
from gpudb.types import MAX_DIGITS, SqlType, exact_numeric


def _element(operands: Operands, index: int, element: SqlType) -> str:
    """Returns an operand as a list of `element`'s representation."""
    value = operands.sql[index], operands.scales[index], operands.types[index]
    if operands.types[index] == element:
        return pack(value[0], value[1], element)
    return pack(*cast(*value, element, False), element)


def _of(operands: Operands, index: int = 0) -> SqlType:
    element = operands.types[index].element
    assert element is not None
    return element.without_modifier


# ---------------------------------------------------------------------------------------------- constructors


def _appended(operands: Operands) -> str:
    element = operands.result.element or _of(operands)
    return f"list_append({operands.sql[0]}, {_element(operands, 1, element)})"


def _prepended(operands: Operands) -> str:
    element = operands.result.element or _of(operands, 1)
    return f"list_prepend({_element(operands, 0, element)}, {operands.sql[1]})"


declare("array_append", _appended)
declare("array_prepend", _prepended)
declare(
    "array_cat",
    lambda o: (
        joined_arrays(o)
        if max(item.dims for item in o.types) > 1
        else let(
            lambda a, b: f"(CASE WHEN {a} IS NULL THEN {b} WHEN {b} IS NULL THEN {a} ELSE list_concat({a}, {b}) END)",
            *o.sql,
        )
    ),
)
declare("array_agg(anyarray)", lambda o: gathered(o.call("list", o.sql[0]), o.result))
declare("array_agg(anynonarray)", lambda o: o.call("list", pack(o.sql[0], o.scales[0], o.types[0])))


def _filled(operands: Operands) -> str:
    element = operands.result.element or operands.types[0]
    value = _element(operands, 0, element)
    if operands.result.dims > 1:
        return _filled_deeply(operands, value)
    missing = raises("22004", "'dimension array or low bound array cannot be null'", operands.result.duckdb)
    wrong = raises("0A000", "'arrays of more than one dimension are not supported'", operands.result.duckdb)
    return let(
        lambda dims: (
            f"(CASE WHEN {dims} IS NULL THEN {missing} WHEN len({dims}) > 1 THEN {wrong}"
            f" ELSE list_transform(range(coalesce({dims}[1], 0)), lambda pg_i: {value}) END)"
        ),
        operands.sql[1],
    )


def _filled_deeply(operands: Operands, value: str) -> str:
    """Returns nested lists of known lengths; an empty array if one of them is 0."""
    sizes = operands.constants[1]
    assert isinstance(sizes, list)
    if None in sizes:
        raise SqlError.of("null_value_not_allowed", "dimension values cannot be null")
    if 0 in sizes:
        return f"CAST([] AS {operands.result.duckdb})"
    for size in reversed(sizes):
        value = f"list_transform(range({int(size)}), lambda pg_i: {value})"
    return value


declare("array_fill(anyelement,_int4)", _filled)

# ---------------------------------------------------------------------------------------------- sizes

declare("cardinality", lambda o: f"len({flat(o.sql[0], o.types[0])})::INTEGER")
declare("array_length array_upper", length)
declare("array_lower", lower)
declare("array_ndims", count)
declare("array_dims", dims_text)

declare(
    "array_shuffle",
    "list_transform(list_sort(list_transform({0}, lambda pg_e: struct_pack(r := random(), e := pg_e))),"
    " lambda pg_p: (pg_p).e)",
)

declare(
    "array_sample",
    lambda o: let(
        lambda a, n: (
            f"(CASE WHEN {n} < 0 OR {n} > len({a}) THEN "
            + raises("22023", f"'sample size must be between 0 and ' || len({a})", o.result.duckdb)
            + f" ELSE list_filter(list_transform("
            f"list_slice(list_sort(list_transform({a}, lambda pg_e: struct_pack(r := random(), e := pg_e))), 1, {n}),"
            f" lambda pg_p: (pg_p).e), lambda pg_e, pg_i: pg_i <= {n}) END)"
        ),
        *o.sql,
    ),
)

# ---------------------------------------------------------------------------------------------- searching


def _sought(operands: Operands, index: int = 1) -> tuple[str, str]:
    element = _of(operands)
    plain = (
        SqlType("numeric", -1, element.numeric_digits) if element.name == "numeric" and element.is_carried else element
    )
    value = cast(operands.sql[index], operands.scales[index], operands.types[index], plain, False)[0]
    return key(operands.sql[0], operands.types[0]), key(value, plain)


def _position(operands: Operands) -> str:
    array, value = _sought(operands)
    if len(operands.sql) == 2:
        return f"CAST(list_position({array}, {value}) AS INTEGER)"
    start, wrong = operands.sql[2], raises("22004", "'initial position must not be null'", "INTEGER")
    return let(
        lambda a, s: (
            f"(CASE WHEN {s} IS NULL AND len({a}) > 0 THEN {wrong} ELSE CAST("
            f"list_position(list_slice({a}, pg_at_least({s}, 1), len({a})), {value}) + pg_at_least({s}, 1) - 1"
            " AS INTEGER) END)"
        ),
        array,
        start,
    )


declare("array_position", _position)


def _positions(operands: Operands) -> str:
    array, value = _sought(operands)
    return let(
        lambda a, v: (
            f"CAST(list_filter(range(1, len({a}) + 1), lambda pg_i: {a}[pg_i] IS NOT DISTINCT FROM {v}) AS INTEGER[])"
        ),
        array,
        value,
    )


declare("array_positions", _positions)


def _value(element: SqlType) -> str:
    return "(pg_e).v" if element.is_carried else key("pg_e", element)


def _removed(operands: Operands) -> str:
    _, value = _sought(operands)
    test = f"{_value(_of(operands))} IS DISTINCT FROM {value}"
    return f"list_filter({operands.sql[0]}, lambda pg_e: {test})"


def _replaced(operands: Operands) -> str:
    _, value = _sought(operands)
    element = _of(operands)
    test = f"{_value(element)} IS NOT DISTINCT FROM {value}"
    made = f"lambda pg_e: CASE WHEN {test} THEN {_element(operands, 2, element)} ELSE pg_e END"
    for _ in range(operands.types[0].dims - 1):
        made = f"lambda pg_e: list_transform(pg_e, {made})"
    return f"list_transform({operands.sql[0]}, {made})"


declare("array_remove", _removed)
declare("array_replace", _replaced)


def _trimmed(operands: Operands) -> str:
    message = "'number of elements to trim must be between 0 and ' || len({0})"
    return let(
        lambda a, n: (
            f"(CASE WHEN {n} < 0 OR {n} > len({a})"
            f" THEN {raises('2202E', message.format(a), operands.result.duckdb)}"
            f" WHEN {n} = len({a}) THEN list_filter({a}, lambda pg_e: false)"
            f" ELSE list_slice({a}, 1, len({a}) - {n}) END)"
        ),
        *operands.sql,
    )


declare("trim_array", _trimmed)

# ---------------------------------------------------------------------------------------------- sets


def _sides(operands: Operands) -> Iterator[tuple[str, SqlType]]:
    return zip(operands.sql, operands.types, strict=True)


def _both(operands: Operands) -> tuple[str, str]:
    left, right = (key(flat(sql, item), replace(item, dims=1)) for sql, item in _sides(operands))
    return left, right


def _contains(left: str, right: str) -> str:
    """Whether every element of `right` is in `left`; a NULL is contained in nothing."""
    return let(
        lambda a, b: (
            f"(CASE WHEN {a} IS NOT NULL THEN list_has_all({a}, {b})"
            f" AND len(list_filter({b}, lambda pg_e: pg_e IS NULL)) = 0 END)"
        ),
        left,
        right,
    )


declare("arraycontains", lambda o: _contains(*_both(o)))
declare("arraycontained", lambda o: _contains(*reversed(_both(o))))
declare("arrayoverlap", lambda o: "list_has_any({}, {})".format(*_both(o)))


def _ordered(operands: Operands, symbol: str) -> str:
    form = key if symbol in {"=", "<>"} else order
    if max(item.dims for item in operands.types) == 1:
        return unmerged(symbol, *(form(sql, item) for sql, item in _sides(operands)))
    one, other = ((form(sql, item), item) for sql, item in _sides(operands))
    return compared(symbol, one, other)


for _name, _symbol in {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
    declare(f"array_{_name}", lambda o, symbol=_symbol: _ordered(o, symbol))

# ---------------------------------------------------------------------------------------------- set-returning

declare("unnest(anyarray)", lambda o: flat(o.sql[0], o.types[0]))
declare("generate_subscripts(anyarray,int4) generate_subscripts(anyarray,int4,bool)", subscripts)


def _series(operands: Operands) -> str:
    held = operands.types[0].duckdb
    first, last = operands.sql[:2]
    by = operands.sql[2] if len(operands.sql) == 3 else "1"
    made = (
        f"CAST(generate_series({first}::BIGINT, pg_series_end({first}::BIGINT, {last}::BIGINT, {by}::BIGINT),"
        f" {by}::BIGINT) AS {held}[])"
    )
    if len(operands.sql) == 2:
        return made
    step = operands.constants[2]
    if isinstance(step, int) and step != 0:
        return made
    wrong = raises("22023", "'step size cannot equal zero'", f"{held}[]")
    zero = f"WHEN {operands.sql[2]} = 0 THEN {wrong}"
    return f"(CASE WHEN {first} IS NULL OR {last} IS NULL THEN NULL {zero} ELSE {made} END)"


def _series_rows(operands: Operands) -> str:
    held = operands.types[0].duckdb
    if None in operands.constants:
        return f"SELECT NULL::{held} WHERE false"
    if operands.constants[2:] == (0,):
        raise SqlError.of("invalid_parameter_value", "step size cannot equal zero")
    bounds = ", ".join(f"{each}::BIGINT" for each in operands.sql)
    return f"SELECT generate_series::{held} FROM generate_series({bounds})"


def _numeric_series(operands: Operands) -> str:
    """The first value has its own display scale, the others the larger of its and the step's."""
    scale = max(item.numeric_digits[1] for item in operands.types)
    shared = f"DECIMAL({MAX_DIGITS},{scale})"
    first, last = (f"CAST({value} AS {shared})" for value in operands.sql[:2])
    step = f"CAST({operands.sql[2] if len(operands.sql) == 3 else '1'} AS {shared})"
    held = "DECIMAL({},{})".format(*operands.result.numeric_digits)
    item = f"CAST({{a}} + {{s}} * CAST(pg_i AS INTEGER) AS {held})"
    if operands.result.is_carried:
        shown = operands.scales[0]
        later = f"greatest({shown}, {operands.scales[2]})" if len(operands.sql) == 3 else shown
        item = f"struct_pack(v := {item}, s := CAST(CASE WHEN pg_i = 0 THEN {shown} ELSE {later} END AS TINYINT))"
    made = f"{operands.result.duckdb}[]"
    wrong = raises("22023", "'step size cannot equal zero'", made)
    return let(
        lambda a, b, s: (
            f"(CASE WHEN {a} IS NULL OR {b} IS NULL OR {s} IS NULL THEN NULL WHEN {s} = 0 THEN {wrong}"
            f" WHEN ({s} > 0 AND {a} > {b}) OR ({s} < 0 AND {a} < {b}) THEN CAST([] AS {made})"
            f" ELSE list_transform("
            f"range(CAST(floor(CAST({b} - {a} AS DOUBLE) / CAST({s} AS DOUBLE) + 1e-9) AS BIGINT) + 1),"
            f" lambda pg_i: {item.format(a=a, s=s)}) END)"
        ),
        first,
        last,
        step,
    )


def _series_type(types: Sequence[SqlType], constants: Sequence[object]) -> SqlType:
    first, step = types[0], types[2] if len(types) == 3 else types[0]
    scale = max(first.numeric_digits[1], step.numeric_digits[1])
    return exact_numeric(
        MAX_DIGITS, scale, varying=first.is_carried or step.is_carried or first.numeric_digits[1] < scale
    )


declare(
    "generate_series(numeric,numeric) generate_series(numeric,numeric,numeric)", _numeric_series, result=_series_type
)
declare(
    "generate_series(int4,int4) generate_series(int4,int4,int4) generate_series(int8,int8)"
    " generate_series(int8,int8,int8)",
    _series,
    rows=_series_rows,
)
