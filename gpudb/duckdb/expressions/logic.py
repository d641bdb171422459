"""Logic, comparisons and choices as DuckDB SQL: three-valued logic, CASE, COALESCE, IN."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from gpudb.duckdb.expressions.renderer import ExpressionRenderer, render_by_kind
from gpudb.duckdb.rendered_sql import RenderedSql, unpack
from gpudb.functions import comparison, equality
from gpudb.functions.let_binding import bind_values
from gpudb.functions.wide_casts import to_wide_key
from gpudb.sql import bound
from gpudb.sql.fallibility import may_fail
from gpudb.sql.traverse import is_volatile, walk
from gpudb.types import SqlType

_MAX_CASE_LENGTH = 4_000


@render_by_kind.register
def _(renderer: ExpressionRenderer, expr: bound.BoolOp) -> RenderedSql:
    parts = [renderer.render_value(arg) for arg in expr.args]
    if expr.op == "NOT":
        return RenderedSql(f"(NOT {parts[0]})")
    if renderer.lazy and _needs_case(expr.args, parts):
        return RenderedSql(_bool_op_by_case(parts, expr.op))
    return RenderedSql(f"({f' {expr.op} '.join(parts)})")


@render_by_kind.register
def _(renderer: ExpressionRenderer, expr: bound.Test) -> RenderedSql:
    if expr.what == "NULL":
        return RenderedSql(f"({renderer.render_value(expr.arg)} IS {'NOT ' if expr.negated else ''}NULL)")
    differs = "DISTINCT" if expr.negated else "NOT DISTINCT"
    return RenderedSql(f"({renderer.render_value(expr.arg)} IS {differs} FROM {expr.what.lower()})")


@render_by_kind.register
def _(renderer: ExpressionRenderer, expr: bound.DistinctFrom) -> RenderedSql:
    symbol = f"IS {'NOT ' if expr.negated else ''}DISTINCT FROM"
    left, right, kinds = (
        renderer.render_value(expr.left),
        renderer.render_value(expr.right),
        (expr.left.type, expr.right.type),
    )
    return RenderedSql(comparison.compare_numbers(symbol, *equality.normalize_operands(left, right, *kinds), *kinds))


@render_by_kind.register
def _(renderer: ExpressionRenderer, expr: bound.Case) -> RenderedSql:
    rendered = [(renderer.render_value(when), renderer.render(then)) for when, then in expr.branches]
    last = renderer.render(expr.default)
    value = "".join(f" WHEN {when} THEN {then.value}" for when, then in rendered)
    sql = f"(CASE{value} ELSE {last.value} END)"
    if not expr.type.is_carried:
        return unpack(sql, expr.type)
    scale = "".join(f" WHEN {when} THEN {then.scale}" for when, then in rendered)
    return RenderedSql(sql, f"(CASE{scale} ELSE {last.scale} END)")


@render_by_kind.register
def _(renderer: ExpressionRenderer, expr: bound.Choice) -> RenderedSql:
    rendered = [renderer.render(arg) for arg in expr.args]
    own = not expr.type.is_carried and equality.has_many_representations(expr.type)
    if (own or expr.type.name == "interval") and expr.op != "COALESCE":
        # DuckDB compares an interval's months first, then its days: there 1 month is more than 40 days
        values = [each.value for each in rendered]
        return RenderedSql(_greatest_or_least(values, ">" if expr.op == "GREATEST" else "<", expr.type))
    values = [each.value for each in rendered]
    if expr.op == "COALESCE":
        sql = f"coalesce({', '.join(values)})"
    else:
        # By pairs: DuckDB 2.0 names further arguments by their columns, and fails to copy a plan with equal names.
        sql = reduce(lambda one, other: f"{expr.op.lower()}({one}, {other})", values)
    if expr.op == "COALESCE" and _needs_case(expr.args, values):
        sql = _coalesce_by_case(values)
    elif expr.op == "COALESCE" and _starts_with_constant(expr):
        # DuckDB 2.0 fails to bind a comparison that it folds to a constant only after it has bound the coalesce
        sql = f"(CASE WHEN true THEN {rendered[0].value} ELSE {sql} END)"
    if not expr.type.is_carried:
        return unpack(sql, expr.type)
    if expr.op == "COALESCE":
        whens = "".join(f" WHEN {each.value} IS NOT NULL THEN {each.scale}" for each in rendered)
    else:
        whens = "".join(f" WHEN {each.value} = {sql} THEN {each.scale}" for each in rendered)
    return RenderedSql(sql, f"(CASE{whens} END)")


@render_by_kind.register
def _(renderer: ExpressionRenderer, expr: bound.InList) -> RenderedSql:
    if any(comparison.is_integral_beyond_int128(expr.arg.type, item.type) for item in expr.items):
        arg, kind = renderer.render_value(expr.arg), expr.arg.type
        each = (
            comparison.compare_numbers("=", arg, renderer.render_value(item), kind, item.type) for item in expr.items
        )
        return RenderedSql(f"({'NOT ' if expr.negated else ''}({' OR '.join(each)}))")
    if any(each.type.wide for each in (expr.arg, *expr.items)):
        arg, *keys = (to_wide_key(*renderer.render(each), each.type) for each in (expr.arg, *expr.items))
    else:
        arg, *keys = (renderer.render_key(each) for each in (expr.arg, *expr.items))
    return RenderedSql(f"({arg} {'NOT ' if expr.negated else ''}IN ({', '.join(keys)}))")


def _starts_with_constant(expr: bound.Expr) -> bool:
    """Returns whether a COALESCE, or the one nested first in it, starts with a non-NULL constant."""
    while isinstance(expr, bound.Choice) and expr.op == "COALESCE":
        expr = expr.args[0]
    return isinstance(expr, bound.Constant) and expr.value is not None


def _needs_case(args: Sequence[bound.Expr], values: Sequence[str]) -> bool:
    """Returns whether lazy evaluation is left to a CASE, which repeats the SQL of earlier arguments.

    DuckDB's lambdas, which could bind them, allow no subqueries, aggregates or window functions.
    """
    if not any(map(may_fail, args[1:])) or sum(map(len, values)) > _MAX_CASE_LENGTH:
        return False
    return not any(isinstance(node, bound.SUBQUERIES) or is_volatile(node) for arg in args[:-1] for node in walk(arg))


def _coalesce_by_case(values: Sequence[str]) -> str:
    """Renders the first value that is not NULL; no later one is evaluated.

    DuckDB extracts common subexpressions from its own coalesce, and evaluates them for every row.
    """
    whens = "".join(f" WHEN {value} IS NOT NULL THEN {value}" for value in values[:-1])
    return f"(CASE{whens} ELSE {values[-1]} END)"


def _bool_op_by_case(parts: Sequence[str], op: str) -> str:
    """Renders AND or OR so that no operand is evaluated after one that decides."""
    sql = parts[-1]
    for part in reversed(parts[:-1]):
        decides = f"WHEN NOT {part} THEN false" if op == "AND" else f"WHEN {part} THEN true"
        sql = f"(CASE {decides} ELSE ({part} {op} {sql}) END)"
    return sql


def _greatest_or_least(values: Sequence[str], sign: str, item: SqlType) -> str:
    """Renders GREATEST or LEAST by the type's comparison; NULLs are ignored."""

    def better(a: str, b: str) -> str:
        test = f"{equality.render_sort_key(b, item)} {sign} {equality.render_sort_key(a, item)}"
        return f"(CASE WHEN {a} IS NULL OR {test} THEN coalesce({b}, {a}) ELSE {a} END)"

    sql = values[0]
    for value in values[1:]:
        sql = bind_values(better, sql, value)
    return sql
