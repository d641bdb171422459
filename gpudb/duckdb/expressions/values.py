"""Columns, constants, casts, domains and computed values as DuckDB SQL."""

from __future__ import annotations

from dataclasses import replace

from gpudb.duckdb.expressions.renderer import ExpressionRenderer, render_by_kind
from gpudb.duckdb.literals import quote_literal
from gpudb.duckdb.rendered_sql import RenderedSql, unpack
from gpudb.errors import FeatureNotSupported
from gpudb.functions.casts import cast
from gpudb.functions.let_binding import bind_values, render_error
from gpudb.functions.wide_casts import narrow_for_column
from gpudb.sql import bound


@render_by_kind.register
def _(renderer: ExpressionRenderer, expr: bound.Column) -> RenderedSql:
    if expr.rel < 0:
        # in parentheses: without them DuckDB takes it for a column in HAVING
        return unpack(f"(let{-expr.rel}).c{expr.index + 1}", expr.type)
    return unpack(renderer.render_column(expr), expr.type)


@render_by_kind.register
def _(renderer: ExpressionRenderer, expr: bound.Constant) -> RenderedSql:
    return renderer.render_constant(expr.value, expr.type)


@render_by_kind.register
def _(renderer: ExpressionRenderer, expr: bound.Parameter) -> RenderedSql:
    slot = None if renderer.slot is None else renderer.slot(expr)
    if slot is not None:
        return RenderedSql(slot, str(expr.type.numeric_digits[1]) if expr.type.name == "numeric" else "0")
    return renderer.render_constant(renderer.parameters[expr.number - 1], expr.type)


@render_by_kind.register
def _(renderer: ExpressionRenderer, expr: bound.Cast) -> RenderedSql:
    value, scale = renderer.render(expr.arg)
    if expr.column:
        return RenderedSql(*narrow_for_column(value, scale, expr.arg.type, expr.type, expr.column))
    return RenderedSql(*cast(value, scale, expr.arg.type, expr.type, expr.explicit))


@render_by_kind.register
def _(renderer: ExpressionRenderer, expr: bound.TreeScore) -> RenderedSql:
    raise FeatureNotSupported("an ensemble of trees")  # the session hands none to this engine


@render_by_kind.register
def _(renderer: ExpressionRenderer, expr: bound.Constrained) -> RenderedSql:
    domain = expr.type.domain

    def checked(value: str) -> str:
        inside = replace(renderer, domain_value=value)
        whens = []
        if expr.not_null:
            message = quote_literal(f"domain {domain} does not allow null values")
            given = unpack(value, expr.type).value
            whens.append(f"{given} IS NULL THEN {render_error('23502', message, expr.type.duckdb)}")
        for constraint, check in expr.checks:
            message = quote_literal(f'value for domain {domain} violates check constraint "{constraint}"')
            whens.append(f"NOT {inside.render_value(check)} THEN {render_error('23514', message, expr.type.duckdb)}")
        return f"(CASE WHEN {' WHEN '.join(whens)} ELSE {value} END)"

    return unpack(bind_values(checked, renderer.render_packed(expr.arg)), expr.type)


@render_by_kind.register
def _(renderer: ExpressionRenderer, expr: bound.DomainValue) -> RenderedSql:
    return unpack(renderer.domain_value, expr.type)


@render_by_kind.register
def _(renderer: ExpressionRenderer, expr: bound.Let) -> RenderedSql:
    fields = ", ".join(f"c{n} := {renderer.render_packed(value)}" for n, value in enumerate(expr.values, 1))
    sql = f"list_transform([struct_pack({fields})], lambda let{-expr.rel}: {renderer.render_packed(expr.body)})[1]"
    return unpack(sql, expr.type)


@render_by_kind.register
def _(renderer: ExpressionRenderer, expr: bound.Fold) -> RenderedSql:
    state, array = expr.type.duckdb, expr.rows.type
    assert array.element is not None
    row = array.element.duckdb
    sql = f"list_transform(coalesce({renderer.render_value(expr.rows)}, []), lambda pg_row: "
    # list_reduce needs one type for state and rows: a struct holds both
    sql += f"struct_pack(c1 := CAST(NULL AS {state}), c2 := CAST(pg_row AS {row})))"
    start = f"struct_pack(c1 := CAST({renderer.render_packed(expr.initial)} AS {state}), c2 := CAST(NULL AS {row}))"
    step = f"struct_pack(c1 := CAST({renderer.render_packed(expr.body)} AS {state}), c2 := CAST(NULL AS {row}))"
    fold = f"list_reduce({sql}, lambda let{-expr.rel}, let{-expr.item}: {step}, {start}).c1"
    return unpack(fold, expr.type)
