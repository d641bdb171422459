"""Arrays of several dimensions, represented as lists of lists of one length: PostgreSQL's rules for their shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.functions.let_binding import bind_values, render_error
from gpudb.functions.registry import MISSING, Operands
from gpudb.functions.text_literal import quote_literal
from gpudb.types import SqlType
from gpudb.types.facts import VECTORS

# Functions that accept arrays of several dimensions; all others reject them.
TAKES_DIMENSIONS = frozenset(
    """
    array_eq array_ne array_lt array_le array_gt array_ge array_cat array_agg array_length array_upper array_lower
    array_ndims array_dims cardinality array_to_string unnest arraycontains arraycontained arrayoverlap array_replace
    trim_array array_shuffle array_sample generate_subscripts to_json to_jsonb array_to_json count json_agg jsonb_agg
    pg_typeof json_build_array jsonb_build_array json_build_object jsonb_build_object num_nulls num_nonnulls concat
    first_value last_value lag lead nth_value row_to_json format concat_ws max min
    """.split()
)

_REFUSED = {
    "array_position": "searching for elements in multidimensional arrays is not supported",
    "array_positions": "searching for elements in multidimensional arrays is not supported",
    "array_remove": "removing elements from multidimensional arrays is not supported",
}


def check_dimensions(name: str, types: Sequence[SqlType]) -> None:
    """Rejects a function that has no meaning for arrays of several dimensions, or is not supported for them."""
    if all(item.dims == 1 for item in types) or name in TAKES_DIMENSIONS:
        return
    if name in {"array_append", "array_prepend"}:
        raise SqlError.of("data_exception", "argument must be empty or one-dimensional array")
    message = f"function {name} of arrays of several dimensions is not supported"
    raise FeatureNotSupported(_REFUSED.get(name, message))


def flatten(sql: str, item: SqlType) -> str:
    """Returns the elements of an array of any dimensions in one list."""
    for _ in range(item.dims - 1):
        sql = f"flatten({sql})"
    return sql


def render_lengths(sql: str, item: SqlType) -> list[str]:
    """Returns the length of each dimension; NULL or 0 for an empty array."""
    sizes = []
    for _ in range(item.dims):
        sizes.append(f"len({sql})")
        sql = f"{sql}[1]"
    return sizes


READS_SUBSCRIPTS = frozenset({"array_upper", "array_lower", "generate_subscripts"})


def _get_start(item: SqlType) -> int:
    """Returns the first subscript of an array's type: vectors of the system catalog start at 0."""
    return 0 if item.name in VECTORS else 1


def render_upper(operands: Operands) -> str:
    """array_upper: the last subscript."""
    return f"({render_length(operands)} + {_get_start(operands.types[0]) - 1})"


def render_length(operands: Operands) -> str:
    """array_length."""
    array, dimension = operands.sql
    item = operands.types[0]
    return bind_values(
        lambda a, n: (
            "(CASE" + "".join(f" WHEN {n} = {at} THEN nullif({size}, 0)::INTEGER"
                              for at, size in enumerate(render_lengths(a, item), 1)) + " END)"
        ),
        array,
        dimension,
    )  # fmt: skip


def render_lower(operands: Operands) -> str:
    """array_lower: the first subscript of each existing dimension."""
    dims, start = operands.types[0].dims, _get_start(operands.types[0])
    return bind_values(
        lambda a, n: f"(CASE WHEN {n} BETWEEN 1 AND {dims} AND len({a}) > 0 THEN {start} END)", *operands.sql
    )


def render_dims(operands: Operands) -> str:
    """array_dims: `[1:2][1:3]`."""
    item = operands.types[0]
    return bind_values(
        lambda a: (
            f"(CASE WHEN len({a}) > 0 THEN "
            + " || ".join(f"'[1:' || {size} || ']'" for size in render_lengths(a, item))
            + " END)"
        ),
        operands.sql[0],
    )


def render_ndims(operands: Operands) -> str:
    """array_ndims."""
    return f"(CASE WHEN len({operands.sql[0]}) > 0 THEN {operands.types[0].dims} END)"


def render_subscripts(operands: Operands) -> str:
    """generate_subscripts: from a dimension's first subscript to its last."""
    array, dimension = operands.sql[:2]
    item, start = operands.types[0], _get_start(operands.types[0])

    def body(a: str, n: str) -> str:
        whens = "".join(
            f" WHEN {n} = {at} THEN range({start}, coalesce({size}, 0) + {start})"
            for at, size in enumerate(render_lengths(a, item), 1)
        )
        positions = f"(CASE{whens} END)"
        if len(operands.sql) == 3:
            positions = f"(CASE WHEN {operands.sql[2]} THEN list_reverse({positions}) ELSE {positions} END)"
        return f"({positions})::INTEGER[]"

    return bind_values(body, array, dimension)


_SYMBOLS = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def compare_arrays(symbol: str, left: tuple[str, SqlType], right: tuple[str, SqlType]) -> str:
    """Compares element by element, then by number of elements, then by shape, as array_cmp does."""

    def make_key(value: str, item: SqlType) -> str:
        sizes = ", ".join(f"CAST(coalesce({size}, 0) AS BIGINT)" for size in render_lengths(value, item))
        shape = f"CASE WHEN len({value}) > 0 THEN {item.dims} ELSE 0 END"
        return f"row({flatten(value, item)}, {shape}, [{sizes}])"

    def body(a: str, b: str) -> str:
        test = f"{make_key(a, left[1])} {symbol} {make_key(b, right[1])}"
        return f"(CASE WHEN {a} IS NOT NULL AND {b} IS NOT NULL THEN {test} END)"

    return bind_values(body, left[0], right[0])


def concatenate(operands: Operands) -> str:
    """array_cat if one side has several dimensions; 2202E for incompatible shapes."""
    one, other = operands.types
    error = render_error("2202E", "'cannot concatenate incompatible arrays'", operands.result.duckdb)

    def body(a: str, b: str) -> str:
        whole_a, whole_b = (a if one.dims >= other.dims else f"[{a}]"), (b if other.dims >= one.dims else f"[{b}]")
        pairs = zip(
            render_lengths(whole_a, operands.result)[1:], render_lengths(whole_b, operands.result)[1:], strict=True
        )
        differ = " OR ".join(f"{x} <> {y}" for x, y in pairs)
        empty_a = whole_b if other.dims >= one.dims else f"CAST({whole_b} AS {operands.result.duckdb})"
        empty_b = whole_a if one.dims >= other.dims else f"CAST({whole_a} AS {operands.result.duckdb})"
        return (
            f"(CASE WHEN {a} IS NULL OR len({a}) = 0 THEN {empty_a} WHEN {b} IS NULL OR len({b}) = 0 THEN {empty_b}"
            f" WHEN {differ} THEN {error} ELSE list_concat({whole_a}, {whole_b}) END)"
        )

    if abs(one.dims - other.dims) > 1:
        raise SqlError.of("array_subscript_error", "cannot concatenate incompatible arrays")
    return bind_values(body, *operands.sql)


def gather_arrays(arrays: str, item: SqlType) -> str:
    """Returns a list of arrays as an array of one more dimension; 2202E and 22004 for arrays without a common shape."""
    assert item.item is not None
    sizes, first = (", ".join(render_lengths(array, item.item)) for array in ("pg_e", "{0}[1]"))
    refused = (
        ("22004", "cannot accumulate null arrays"),
        ("2202E", "cannot accumulate empty arrays"),
        ("2202E", "cannot accumulate arrays of different dimensionality"),
    )

    def checked(arrays: str) -> str:
        fault = (
            f"list_filter(list_transform({arrays}, lambda pg_e: CASE WHEN pg_e IS NULL THEN 1 WHEN len(pg_e) = 0 THEN 2"
            f" WHEN [{sizes}] IS DISTINCT FROM [{first.format(arrays)}] THEN 3 END), lambda pg_f: pg_f IS NOT NULL)[1]"
        )
        whens = "".join(
            f" WHEN {number} THEN {render_error(state, quote_literal(message), item.duckdb)}"
            for number, (state, message) in enumerate(refused, 1)
        )
        return f"(CASE {fault}{whens} ELSE {arrays} END)"

    return bind_values(checked, arrays)


def stack_arrays(arrays: str, item: SqlType) -> str:
    """ARRAY[…] of arrays whose shape is known at run time only; empty if all of them are empty or NULL."""
    assert item.item is not None
    sizes = ", ".join(render_lengths("pg_e", item.item))
    message = "multidimensional arrays must have array expressions with matching dimensions"
    error = render_error("2202E", quote_literal(message), item.duckdb)

    def checked(arrays: str) -> str:
        empty = f"len(list_filter({arrays}, lambda pg_e: coalesce(len(pg_e), 0) = 0))"
        shapes = f"list_distinct(list_transform({arrays}, lambda pg_e: [{sizes}]))"
        return (
            f"(CASE WHEN {empty} = len({arrays}) THEN CAST([] AS {item.duckdb})"
            f" WHEN {empty} > 0 OR len({shapes}) > 1 THEN {error} ELSE {arrays} END)"
        )

    return bind_values(checked, arrays)


def render_slices(array: str, item: SqlType, bounds: Sequence[tuple[str | None, ...]]) -> str:
    """array[low:high][low:high]…: NULL for a NULL bound, an empty array if bounds cross or nothing is between them."""
    edges = [edge for low, high in bounds for edge in (low or "1", high or "NULL")]

    def slice_dimension(value: str, names: Sequence[str], places: Sequence[tuple[str | None, ...]]) -> str:
        if not places:
            return value
        upper = f"greatest({names[1]}, 0)" if places[0][1] is not None else f"len({value})"
        sliced = f"list_slice({value}, greatest({names[0]}, 1), {upper})"
        if len(places) == 1:
            return sliced
        element = f"pg_s{len(places)}"
        return f"list_transform({sliced}, lambda {element}: {slice_dimension(element, names[2:], places[1:])})"

    def body(value: str, *names: str) -> str:
        sliced = slice_dimension(value, names, bounds)
        crossed = " OR ".join(
            f"{names[2 * at]} > {names[2 * at + 1]}" for at, pair in enumerate(bounds) if pair[1] is not None
        )
        nulls = " OR ".join(
            f"{names[2 * at + side]} IS NULL"
            for at, pair in enumerate(bounds)
            for side in (0, 1)
            if pair[side] is not None
        )
        empty = f"CAST([] AS {item.duckdb})"
        null = f" WHEN {nulls} THEN NULL" if nulls else ""
        none = f" WHEN {crossed} THEN {empty}" if crossed else ""
        sliced_array = f"CASE WHEN len({sliced}[1]) = 0 THEN {empty} ELSE {sliced} END" if len(bounds) > 1 else sliced
        return f"(CASE WHEN {value} IS NULL THEN NULL{null}{none} ELSE CAST({sliced_array} AS {item.duckdb}) END)"

    return bind_values(body, array, *edges)


def resolve_dimensions(name: str, declared: SqlType, types: Sequence[SqlType], constants: Sequence[object]) -> SqlType:
    """Returns the type of a polymorphic call: an array has the dimensions of its arguments."""
    if declared.element is None:
        return declared
    match name:
        case "array_agg":
            inner = types[0]
            return replace(declared, dims=inner.dims + 1) if inner.element is not None else declared
        case "array_fill":
            sizes = constants[1] if len(constants) > 1 else MISSING
            return replace(declared, dims=len(sizes)) if isinstance(sizes, list) and len(sizes) > 1 else declared
        case "unnest":
            return declared
    return replace(declared, dims=max((item.dims for item in types if item.element is not None), default=1))
