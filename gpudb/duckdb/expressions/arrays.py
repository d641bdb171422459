"""Arrays, jsonb values and records as DuckDB SQL: construction, parts, assignments, comparison with elements."""

from __future__ import annotations

from gpudb.duckdb import array_assignment
from gpudb.duckdb.expressions.renderer import ExpressionRenderer, render_by_kind
from gpudb.duckdb.rendered_sql import RenderedSql, unpack
from gpudb.functions.dimensions import flatten, render_slices, stack_arrays
from gpudb.functions.let_binding import bind_values
from gpudb.functions.records import pack_record
from gpudb.functions.registry import MISSING, Operands
from gpudb.functions.text import get_name_byte
from gpudb.sql import bound
from gpudb.types import SqlType
from gpudb.types.facts import GEOMETRIC_PARTS


@render_by_kind.register
def _(renderer: ExpressionRenderer, expr: bound.AnyArray) -> RenderedSql:
    left = renderer.render(expr.left)
    array = flatten(renderer.render_value(expr.array), expr.array.type)
    if "SELECT " in left.value + array and "SELECT " not in left.scale:
        # DuckDB has no subqueries in lambdas: the array's elements are compared with the result. An array that a
        # subquery makes is mentioned several times.
        bound_once = f"list_transform([struct_pack(x0 := {left.value}, x1 := {array})], lambda pg_operands: "
        compared = _compare_with_elements(renderer, expr, left._replace(value="(pg_operands).x0"), "(pg_operands).x1")
        return RenderedSql(f"{bound_once}{compared})[1]")
    return RenderedSql(_compare_with_elements(renderer, expr, left, array))


def _compare_with_elements(renderer: ExpressionRenderer, expr: bound.AnyArray, left: RenderedSql, array: str) -> str:
    element = expr.array.type.element or SqlType("oid")
    aggregate = "list_bool_and" if expr.all else "list_bool_or"
    item = "pg_item"
    parts = unpack(item, element)
    operands = Operands(
        (left.value, parts.value),
        (left.scale, parts.scale),
        (expr.left.type, element),
        (MISSING, MISSING),
        expr.type,
    )
    test = renderer.apply_function(expr.function, operands).value
    # DuckDB's list aggregate is NULL for an empty array where SQL requires the neutral value.
    neutral = "true" if expr.all else "false"
    tested = f"list_transform({array}, lambda {item}: {test})"
    known = f"{aggregate}({tested})"
    nulls = f"len(list_filter({tested}, lambda {item}: {item} IS NULL)) > 0"
    unknown = f"(CASE WHEN {known} IS NOT DISTINCT FROM {neutral} AND {nulls} THEN NULL"
    return (
        f"(CASE WHEN {array} IS NULL THEN NULL WHEN len({array}) = 0 THEN {neutral}"
        f" ELSE {unknown} ELSE {known} END) END)"
    )


@render_by_kind.register
def _(renderer: ExpressionRenderer, expr: bound.Array) -> RenderedSql:
    sql = f"CAST([{', '.join(renderer.render_packed(item) for item in expr.items)}] AS {expr.type.duckdb})"
    return RenderedSql(sql if _has_known_shape(expr) else stack_arrays(sql, expr.type))


@render_by_kind.register
def _(renderer: ExpressionRenderer, expr: bound.Subscript) -> RenderedSql:
    array = renderer.render_value(expr.arg)
    if expr.slice:
        return RenderedSql(_render_slice(renderer, array, expr))
    high = renderer.render_value(expr.high) if expr.high is not None else None
    if expr.arg.type.name == "name":
        return RenderedSql(bind_values(get_name_byte, array, str(high)))
    if expr.arg.type.name in GEOMETRIC_PARTS:
        return RenderedSql(f"pg_geo_part_{expr.arg.type.name}({array}, {high})")
    # PostgreSQL's arrays start at 1; vectors of the system catalog start at 0.
    index = f"({high} + 1)" if expr.arg.type.name in {"int2vector", "oidvector"} else high
    sql = f"(CASE WHEN {index} > 0 THEN list_extract({array}, {index}) END)"
    return unpack(sql, expr.type)


def _render_slice(renderer: ExpressionRenderer, array: str, expr: bound.Subscript) -> str:
    bounds = ((expr.low, expr.high), *expr.inner)
    given = [tuple(None if each is None else renderer.render_value(each) for each in pair) for pair in bounds]
    return render_slices(array, expr.type, given)


@render_by_kind.register
def _(renderer: ExpressionRenderer, expr: bound.ArrayAssignment) -> RenderedSql:
    array = renderer.render_value(expr.arg)
    bounds = [renderer.render_value(each) if each is not None else None for each in expr.high]
    if expr.slice:
        low = renderer.render_value(expr.low) if expr.low is not None else None
        return RenderedSql(
            array_assignment.assign_slice(array, low, bounds[0], renderer.render_value(expr.replacement), expr.type)
        )
    places = [each for each in bounds if each is not None]
    return RenderedSql(
        array_assignment.assign_element(array, places, renderer.render_packed(expr.replacement), expr.type)
    )


@render_by_kind.register
def _(renderer: ExpressionRenderer, expr: bound.JsonbAssignment) -> RenderedSql:
    path = ", ".join(f"CAST({renderer.render_value(each)} AS VARCHAR)" for each in expr.path)
    start = "'[]'" if expr.numbered else "'{}'"
    given = f"coalesce({renderer.render_value(expr.replacement)}, 'null')"
    return RenderedSql(f"pg_jsonb_assign(coalesce({renderer.render_value(expr.arg)}, {start}), [{path}], {given})")


@render_by_kind.register
def _(renderer: ExpressionRenderer, expr: bound.Field) -> RenderedSql:
    return unpack(f"struct_extract_at({renderer.render_value(expr.arg)}, {expr.index + 1})", expr.type)


@render_by_kind.register
def _(renderer: ExpressionRenderer, expr: bound.Row) -> RenderedSql:
    return RenderedSql(pack_record([renderer.render_packed(item) for item in expr.items], expr.type))


def _has_known_shape(expr: bound.Array) -> bool:
    """Returns whether an array's shape is known: plain elements, or arrays whose shape is known."""
    if expr.type.dims == 1:
        return True
    return all(isinstance(item, bound.Array) and _has_known_shape(item) for item in expr.items)
