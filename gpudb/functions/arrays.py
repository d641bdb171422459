"""Arrays, represented as DuckDB lists; NULL elements compare as in PostgreSQL."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gpudb.errors import SqlError
from gpudb.functions.casts import cast
from gpudb.functions.dimensions import (
    compare_arrays,
    flatten,
    gather_arrays,
    render_dims,
    render_length,
    render_lower,
    render_ndims,
    render_subscripts,
    render_upper,
)
from gpudb.functions.dimensions import concatenate as joined_arrays
from gpudb.functions.equality import compare_unmerged, render_equality_key, render_sort_key
from gpudb.functions.let_binding import bind_values, render_error
from gpudb.functions.operands import pack
from gpudb.functions.registry import Operands, declare
from gpudb.types import MAX_DIGITS, SqlType, exact_numeric


def _to_list(operands: Operands, index: int, element: SqlType) -> str:
    """Returns an operand as a list of `element`'s representation."""
    value = operands.sql[index], operands.scales[index], operands.types[index]
    if operands.types[index] == element:
        return pack(value[0], value[1], element)
    return pack(*cast(*value, element, False), element)


def _get_element_type(operands: Operands, index: int = 0) -> SqlType:
    element = operands.types[index].element
    assert element is not None
    return element.without_modifier


# ---------------------------------------------------------------------------------------------- constructors


def _append(operands: Operands) -> str:
    element = operands.result.element or _get_element_type(operands)
    return f"list_append({operands.sql[0]}, {_to_list(operands, 1, element)})"


def _prepend(operands: Operands) -> str:
    element = operands.result.element or _get_element_type(operands, 1)
    return f"list_prepend({_to_list(operands, 0, element)}, {operands.sql[1]})"


declare("array_append", _append)
declare("array_prepend", _prepend)
declare(
    "array_cat",
    lambda o: (
        joined_arrays(o)
        if max(item.dims for item in o.types) > 1
        else bind_values(
            lambda a, b: f"(CASE WHEN {a} IS NULL THEN {b} WHEN {b} IS NULL THEN {a} ELSE list_concat({a}, {b}) END)",
            *o.sql,
        )
    ),
)
declare("array_agg(anyarray)", lambda o: gather_arrays(o.call("list", o.sql[0]), o.result))
declare("array_agg(anynonarray)", lambda o: o.call("list", pack(o.sql[0], o.scales[0], o.types[0])))


def _fill(operands: Operands) -> str:
    element = operands.result.element or operands.types[0]
    value = _to_list(operands, 0, element)
    if operands.result.dims > 1:
        return _fill_dimensions(operands, value)
    missing = render_error("22004", "'dimension array or low bound array cannot be null'", operands.result.duckdb)
    error = render_error("0A000", "'arrays of more than one dimension are not supported'", operands.result.duckdb)
    return bind_values(
        lambda dims: (
            f"(CASE WHEN {dims} IS NULL THEN {missing} WHEN len({dims}) > 1 THEN {error}"
            f" ELSE list_transform(range(pg_allot_items(coalesce({dims}[1], 0)::BIGINT)), lambda pg_i: {value}) END)"
        ),
        operands.sql[1],
    )


def _fill_dimensions(operands: Operands, value: str) -> str:
    """Returns nested lists of known lengths; an empty array if one of them is 0."""
    sizes = operands.constants[1]
    assert isinstance(sizes, list)
    if None in sizes:
        raise SqlError.of("null_value_not_allowed", "dimension values cannot be null")
    if 0 in sizes:
        return f"CAST([] AS {operands.result.duckdb})"
    total = math.prod(int(size) for size in sizes)
    value = f"(CASE WHEN pg_allot_items({min(total, 1 << 62)}) > 0 THEN {value} END)"
    for size in reversed(sizes):
        value = f"list_transform(range({int(size)}), lambda pg_i: {value})"
    return value


declare("array_fill(anyelement,_int4)", _fill)

# ---------------------------------------------------------------------------------------------- sizes

declare("cardinality", lambda o: f"len({flatten(o.sql[0], o.types[0])})::INTEGER")
declare("array_length", render_length)
declare("array_upper", render_upper)
declare("array_lower", render_lower)
declare("array_ndims", render_ndims)
declare("array_dims", render_dims)

declare(
    "array_shuffle",
    "list_transform(list_sort(list_transform({0}, lambda pg_e: struct_pack(r := random(), e := pg_e))),"
    " lambda pg_p: (pg_p).e)",
)

declare(
    "array_sample",
    lambda o: bind_values(
        lambda a, n: (
            f"(CASE WHEN {n} < 0 OR {n} > len({a}) THEN "
            + render_error("22023", f"'sample size must be between 0 and ' || len({a})", o.result.duckdb)
            + f" ELSE list_filter(list_transform("
            f"list_slice(list_sort(list_transform({a}, lambda pg_e: struct_pack(r := random(), e := pg_e))), 1, {n}),"
            f" lambda pg_p: (pg_p).e), lambda pg_e, pg_i: pg_i <= {n}) END)"
        ),
        *o.sql,
    ),
)

# ---------------------------------------------------------------------------------------------- searching


def _render_searched(operands: Operands, index: int = 1) -> tuple[str, str]:
    element = _get_element_type(operands)
    plain = (
        SqlType("numeric", -1, element.numeric_digits) if element.name == "numeric" and element.is_carried else element
    )
    value = cast(operands.sql[index], operands.scales[index], operands.types[index], plain, False)[0]
    return render_equality_key(operands.sql[0], operands.types[0]), render_equality_key(value, plain)


def _render_position(operands: Operands) -> str:
    array, value = _render_searched(operands)
    if len(operands.sql) == 2:
        return f"CAST(list_position({array}, {value}) AS INTEGER)"
    start, error = operands.sql[2], render_error("22004", "'initial position must not be null'", "INTEGER")
    return bind_values(
        lambda a, s: (
            f"(CASE WHEN {s} IS NULL AND len({a}) > 0 THEN {error} ELSE CAST("
            f"list_position(list_slice({a}, pg_at_least({s}, 1), len({a})), {value}) + pg_at_least({s}, 1) - 1"
            " AS INTEGER) END)"
        ),
        array,
        start,
    )


declare("array_position", _render_position)


def _render_positions(operands: Operands) -> str:
    array, value = _render_searched(operands)
    return bind_values(
        lambda a, v: (
            f"CAST(list_filter(range(1, len({a}) + 1), lambda pg_i: {a}[pg_i] IS NOT DISTINCT FROM {v}) AS INTEGER[])"
        ),
        array,
        value,
    )


declare("array_positions", _render_positions)


def _get_value(element: SqlType) -> str:
    return "(pg_e).v" if element.is_carried else render_equality_key("pg_e", element)


def _remove(operands: Operands) -> str:
    _, value = _render_searched(operands)
    test = f"{_get_value(_get_element_type(operands))} IS DISTINCT FROM {value}"
    return f"list_filter({operands.sql[0]}, lambda pg_e: {test})"


def _replace(operands: Operands) -> str:
    _, value = _render_searched(operands)
    element = _get_element_type(operands)
    test = f"{_get_value(element)} IS NOT DISTINCT FROM {value}"
    replacement = f"lambda pg_e: CASE WHEN {test} THEN {_to_list(operands, 2, element)} ELSE pg_e END"
    for _ in range(operands.types[0].dims - 1):
        replacement = f"lambda pg_e: list_transform(pg_e, {replacement})"
    return f"list_transform({operands.sql[0]}, {replacement})"


declare("array_remove", _remove)
declare("array_replace", _replace)


def _trim(operands: Operands) -> str:
    message = "'number of elements to trim must be between 0 and ' || len({0})"
    return bind_values(
        lambda a, n: (
            f"(CASE WHEN {n} < 0 OR {n} > len({a})"
            f" THEN {render_error('2202E', message.format(a), operands.result.duckdb)}"
            f" WHEN {n} = len({a}) THEN list_filter({a}, lambda pg_e: false)"
            f" ELSE list_slice({a}, 1, len({a}) - {n}) END)"
        ),
        *operands.sql,
    )


declare("trim_array", _trim)

# ---------------------------------------------------------------------------------------------- sets


def _iterate_sides(operands: Operands) -> Iterator[tuple[str, SqlType]]:
    return zip(operands.sql, operands.types, strict=True)


def _align_operands(operands: Operands) -> tuple[str, str]:
    left, right = (
        render_equality_key(flatten(sql, item), replace(item, dims=1)) for sql, item in _iterate_sides(operands)
    )
    return left, right


def _render_contains(left: str, right: str) -> str:
    """Whether every element of `right` is in `left`; a NULL is contained in nothing."""
    return bind_values(
        lambda a, b: (
            f"(CASE WHEN {a} IS NOT NULL THEN list_has_all({a}, {b})"
            f" AND len(list_filter({b}, lambda pg_e: pg_e IS NULL)) = 0 END)"
        ),
        left,
        right,
    )


declare("arraycontains", lambda o: _render_contains(*_align_operands(o)))
declare("arraycontained", lambda o: _render_contains(*reversed(_align_operands(o))))
declare("arrayoverlap", lambda o: "list_has_any({}, {})".format(*_align_operands(o)))


def _compare(operands: Operands, symbol: str) -> str:
    make_key = render_equality_key if symbol in {"=", "<>"} else render_sort_key
    if max(item.dims for item in operands.types) == 1:
        return compare_unmerged(symbol, *(make_key(sql, item) for sql, item in _iterate_sides(operands)))
    one, other = ((make_key(sql, item), item) for sql, item in _iterate_sides(operands))
    return compare_arrays(symbol, one, other)


for _name, _symbol in {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
    declare(f"array_{_name}", lambda o, symbol=_symbol: _compare(o, symbol))

# ---------------------------------------------------------------------------------------------- set-returning

declare("unnest(anyarray)", lambda o: flatten(o.sql[0], o.types[0]))
declare("generate_subscripts(anyarray,int4) generate_subscripts(anyarray,int4,bool)", render_subscripts)


def _render_series(operands: Operands) -> str:
    duckdb_type = operands.types[0].duckdb
    first, last = operands.sql[:2]
    step_sql = operands.sql[2] if len(operands.sql) == 3 else "1"
    series = (
        f"CAST(generate_series({first}::BIGINT, pg_series_end({first}::BIGINT, {last}::BIGINT, {step_sql}::BIGINT),"
        f" {step_sql}::BIGINT) AS {duckdb_type}[])"
    )
    if len(operands.sql) == 2:
        return series
    step = operands.constants[2]
    if isinstance(step, int) and step != 0:
        return series
    error = render_error("22023", "'step size cannot equal zero'", f"{duckdb_type}[]")
    zero = f"WHEN {operands.sql[2]} = 0 THEN {error}"
    return f"(CASE WHEN {first} IS NULL OR {last} IS NULL THEN NULL {zero} ELSE {series} END)"


def _render_series_rows(operands: Operands) -> str:
    duckdb_type = operands.types[0].duckdb
    if None in operands.constants:
        return f"SELECT NULL::{duckdb_type} WHERE false"
    if operands.constants[2:] == (0,):
        raise SqlError.of("invalid_parameter_value", "step size cannot equal zero")
    bounds = ", ".join(f"{operand}::BIGINT" for operand in operands.sql)
    return f"SELECT generate_series::{duckdb_type} FROM generate_series({bounds})"


def _render_numeric_series(operands: Operands) -> str:
    """The first value has its own display scale, the others the larger of its and the step's."""
    scale = max(item.numeric_digits[1] for item in operands.types)
    decimal = f"DECIMAL({MAX_DIGITS},{scale})"
    first, last = (f"CAST({value} AS {decimal})" for value in operands.sql[:2])
    step = f"CAST({operands.sql[2] if len(operands.sql) == 3 else '1'} AS {decimal})"
    duckdb_type = "DECIMAL({},{})".format(*operands.result.numeric_digits)
    item = f"CAST({{a}} + {{s}} * CAST(pg_i AS INTEGER) AS {duckdb_type})"
    if operands.result.is_carried:
        first_scale = operands.scales[0]
        next_scale = f"greatest({first_scale}, {operands.scales[2]})" if len(operands.sql) == 3 else first_scale
        item_scale = f"CASE WHEN pg_i = 0 THEN {first_scale} ELSE {next_scale} END"
        item = f"struct_pack(v := {item}, s := CAST({item_scale} AS TINYINT))"
    list_type = f"{operands.result.duckdb}[]"
    error = render_error("22023", "'step size cannot equal zero'", list_type)
    return bind_values(
        lambda a, b, s: (
            f"(CASE WHEN {a} IS NULL OR {b} IS NULL OR {s} IS NULL THEN NULL WHEN {s} = 0 THEN {error}"
            f" WHEN ({s} > 0 AND {a} > {b}) OR ({s} < 0 AND {a} < {b}) THEN CAST([] AS {list_type})"
            f" ELSE list_transform("
            f"range(CAST(floor(CAST({b} - {a} AS DOUBLE) / CAST({s} AS DOUBLE) + 1e-9) AS BIGINT) + 1),"
            f" lambda pg_i: {item.format(a=a, s=s)}) END)"
        ),
        first,
        last,
        step,
    )


def _get_series_type(types: Sequence[SqlType], constants: Sequence[object]) -> SqlType:
    first, step = types[0], types[2] if len(types) == 3 else types[0]
    scale = max(first.numeric_digits[1], step.numeric_digits[1])
    return exact_numeric(
        MAX_DIGITS, scale, varying=first.is_carried or step.is_carried or first.numeric_digits[1] < scale
    )


declare(
    "generate_series(numeric,numeric) generate_series(numeric,numeric,numeric)",
    _render_numeric_series,
    result=_get_series_type,
)
declare(
    "generate_series(int4,int4) generate_series(int4,int4,int4) generate_series(int8,int8)"
    " generate_series(int8,int8,int8)",
    _render_series,
    rows=_render_series_rows,
)
