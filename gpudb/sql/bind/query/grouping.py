"""GROUP BY: its expressions and grouping sets, and the check for ungrouped columns (42803)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, product
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.tables import Table
from gpudb.errors import GpudbError, SqlError
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions.expressions import bind_expression
from gpudb.sql.bind.query.all_columns import is_all, record_all
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bind.types.coercion import resolve_unknown
from gpudb.sql.bind.types.conversions import check_equality
from gpudb.sql.bound import (
    Aggregate,
    Choice,
    Column,
    Constant,
    Expr,
    From,
    Grouping,
    Join,
    Row,
    Scan,
    Select,
    SetOperation,
    Values,
    Window,
)
from gpudb.sql.parse.parser import expression_location, inner, kind, strings
from gpudb.sql.traverse import children, walk

Sets = tuple[tuple[int, ...], ...]


def bind_group_by(
    binder: Binder,
    scope: Scope,
    nodes: Sequence[Any],
    targets: list[tuple[str, Expr]],
    *,
    distinct: bool = False,
) -> tuple[tuple[Expr, ...], Sets | None]:
    """Binds the grouping expressions, each once, and the grouping sets as positions, if there are any.

    `distinct` (GROUP BY DISTINCT) keeps one of equal sets. With grouping sets, a grouped output that is the same
    expression as another output becomes a separate expression, because a set may contain only one of them.
    """
    keys: list[Expr] = []
    has_sets = any(kind(node) == "grouping_set" for node in nodes)
    owners: dict[int, int | None] = {}

    def key(node: Any) -> list[int]:
        if kind(node) == "row_expr" and inner(node).row_format == pg.COERCE_IMPLICIT_CAST:
            # (1, 2) is two items, not a row
            return [place for each in inner(node).args for place in key(each)]
        at = _find_referenced_output(binder, scope, node, targets)
        expr = _bind_key(binder, scope, node, targets, at)
        if at is None:
            at = _find_output(targets, expr)
        elif has_sets and expr in keys and owners[keys.index(expr)] != at:
            expr = Choice("COALESCE", (expr, expr), expr.type)
            targets[at] = targets[at][0], expr
        parts = expr.items if isinstance(expr, Row) else (expr,)
        positions = []
        for part in parts:
            if part not in keys:
                owners[len(keys)] = at if part is expr else _find_output(targets, part)
                keys.append(part)
            positions.append(keys.index(part))
        return positions

    if len(nodes) == 1 and is_all(nodes[0]):
        grouped = [index for index, (_, expr) in enumerate(targets) if _is_grouped_by_all(scope, expr)]
        record_all(binder, nodes[0], grouped)
        exprs = [_check_key(binder, scope, targets[index][1], nodes[0]) for index in grouped]
        parts = [part for expr in exprs for part in (expr.items if isinstance(expr, Row) else (expr,))]
        return tuple(part for index, part in enumerate(parts) if part not in parts[:index]), None
    factors: list[list[tuple[int, ...]]] = []
    for node in nodes:
        if kind(node) == "grouping_set":
            factors.append(list(_iter_sets(inner(node), key)))
        else:
            factors.append([tuple(key(node))])
    if not has_sets:
        return tuple(keys), None
    sets = tuple(tuple(dict.fromkeys(sum(each, ()))) for each in product(*factors))
    if distinct:
        sets = tuple({frozenset(each): each for each in reversed(sets)}.values())[::-1]
    if len(sets) > 4096:
        raise SqlError.of("statement_too_complex", "too many grouping sets present (maximum 4096)")
    return tuple(keys), sets


def _is_grouped_by_all(scope: Scope, expr: Expr) -> bool:
    """Whether GROUP BY ALL groups by an output: by none that aggregates, has a window function or is constant."""
    if isinstance(expr, Constant) or any(each in scope.outer_aggregates for each in walk(expr)):
        return False
    return not any(isinstance(each, Aggregate | Grouping | Window) for each in _walk_level(expr))


def _find_output(targets: Sequence[tuple[str, Expr]], expr: Expr) -> int | None:
    """Returns the position of the first output that is an expression."""
    return next((index for index, (_, each) in enumerate(targets) if each == expr), None)


def _iter_sets(node: Any, key: Any) -> Iterator[tuple[int, ...]]:
    def single(each: Any) -> tuple[int, ...]:
        return tuple(key(each))

    match pg.GroupingSetKind.Name(node.kind):
        case "GROUPING_SET_EMPTY":
            yield ()
        case "GROUPING_SET_ROLLUP":
            parts = [single(each) for each in node.content]
            for size in range(len(parts), -1, -1):
                yield sum(parts[:size], ())
        case "GROUPING_SET_CUBE":
            parts = [single(each) for each in node.content]
            for size in range(len(parts), -1, -1):
                for chosen in combinations(parts, size):
                    yield sum(chosen, ())
        case _:
            for each in node.content:
                if kind(each) == "grouping_set":
                    yield from _iter_sets(inner(each), key)
                else:
                    yield single(each)


def _bind_key(binder: Binder, scope: Scope, node: Any, targets: Sequence[tuple[str, Expr]], at: int | None) -> Expr:
    """Binds a GROUP BY item: the output `at`, or an expression."""
    expr = resolve_unknown(binder, bind_expression(binder, scope, node)) if at is None else targets[at][1]
    return _check_key(binder, scope, expr, node)


def _find_referenced_output(binder: Binder, scope: Scope, node: Any, targets: Sequence[tuple[str, Expr]]) -> int | None:
    """Returns the output that a GROUP BY item refers to by position, or by name if no column has that name."""
    if kind(node) == "a_const":
        return get_output_index(binder, node, targets, "GROUP BY")
    if kind(node) != "column_ref" or len(inner(node).fields) != 1:
        return None
    (name,) = strings(inner(node).fields)
    if scope.find_column(name) is not None:
        return None
    named = [index for index, (each, _) in enumerate(targets) if each == name]
    if len({targets[index][1] for index in named}) > 1:
        error = SqlError.of("ambiguous_column", f'GROUP BY "{name}" is ambiguous')
        raise binder.locate(error, inner(node).location)
    return named[0] if named else None


def _check_key(binder: Binder, scope: Scope, expr: Expr, node: Any) -> Expr:
    if any(isinstance(each, Aggregate) for each in _walk_level(expr)) or any(
        each in scope.outer_aggregates for each in walk(expr)
    ):
        raise SqlError.of("grouping_error", "aggregate functions are not allowed in GROUP BY")
    if any(isinstance(each, Window) for each in _walk_level(expr)):
        raise SqlError.of("windowing_error", "window functions are not allowed in GROUP BY")
    try:
        check_equality([expr.type])
    except GpudbError as error:
        raise binder.locate(error, expression_location(node)) from None
    return expr


def get_output_index(binder: Binder, node: Any, targets: Sequence[tuple[str, Expr]], clause: str) -> int:
    """Returns the output, from 0, that an integer constant in GROUP BY, ORDER BY or DISTINCT ON refers to."""
    constant = inner(node)
    if constant.WhichOneof("val") != "ival":
        error = SqlError.of("syntax_error", f"non-integer constant in {clause}")
        raise binder.locate(error, constant.location)
    number = int(constant.ival.ival)
    if not 1 <= number <= len(targets):
        error = SqlError.of("invalid_column_reference", f"{clause} position {number} is not in select list")
        raise binder.locate(error, constant.location)
    return number - 1


def find_output(binder: Binder, node: Any, targets: Sequence[tuple[str, Expr]], clause: str) -> Expr | None:
    """Returns the output that an item of ORDER BY or DISTINCT ON names or numbers; None for others."""
    if kind(node) == "a_const":
        return targets[get_output_index(binder, node, targets, clause)][1]
    if kind(node) == "column_ref" and len(inner(node).fields) == 1 and kind(inner(node).fields[0]) == "string":
        (name,) = strings(inner(node).fields)
        named = [expr for each, expr in targets if each == name]
        if len(set(named)) > 1:
            error = SqlError.of("ambiguous_column", f'{clause} "{name}" is ambiguous')
            raise binder.locate(error, inner(node).location)
        if named:
            return named[0]
    return None


def _walk_level(expr: Any) -> Iterator[Any]:
    """Yields the nodes of an expression without those of its subqueries."""
    yield expr
    for child in children(expr):
        if not isinstance(child, Select | SetOperation | Values):
            yield from _walk_level(child)


def check_grouped(
    binder: Binder, scope: Scope, keys: Sequence[Expr], sets: Sets | None, exprs: Iterable[Any], source: From | None
) -> tuple[Expr, ...]:
    """Raises 42803 for an ungrouped column of this level; returns those that a primary key determines."""
    implied: list[Expr] = []
    tables = dict(_iter_tables(source)) if source is not None else {}
    # A primary key determines its row if every grouping set contains it
    common = [key for index, key in enumerate(keys) if sets is None or all(index in each for each in sets)]
    determined = {rel for rel, table in tables.items() if _determines(common, rel, table)}

    def check(node: Any, below: bool) -> None:
        if not isinstance(node, Column | Constant) and node in keys:
            return
        if isinstance(node, Aggregate | Grouping) and (not below or node in scope.outer_aggregates):
            if isinstance(node, Grouping) and not all(arg in keys for arg in node.args):
                message = "arguments to GROUPING must be grouping expressions of the associated query level"
                odd = next(arg for arg in node.args if arg not in keys)
                raise binder.locate_expr(SqlError.of("grouping_error", message), odd)
            for arg in node.args if isinstance(node, Aggregate) and node.within_group else ():
                direct(arg)
            return
        if isinstance(node, Column) and node.rel in scope.rels and node not in keys:
            if node.rel in determined:
                if node not in implied:
                    implied.append(node)
                return
            raise binder.locate_expr(SqlError.of("grouping_error", _ungrouped_message(scope, node, below)), node)
        below = below or isinstance(node, Select | SetOperation | Values)
        for child in children(node):
            check(child, below)

    def direct(arg: Expr) -> None:
        try:
            check(arg, False)
        except SqlError as error:
            error.detail = "Direct arguments of an ordered-set aggregate must use only grouped columns."
            raise

    for expr in exprs:
        check(expr, False)
    for expr in (arg for each in scope.hypotheticals for arg in each.args):
        direct(expr)
    return tuple(implied)


def _ungrouped_message(scope: Scope, column: Column, below: bool) -> str:
    owner = next((item.alias for item in scope.items if any(expr == column for _, expr in item.columns)), "")
    shown = f"{owner}.{column.name}" if owner else column.name
    if below:
        return f'subquery uses ungrouped column "{shown}" from outer query'
    return f'column "{shown}" must appear in the GROUP BY clause or be used in an aggregate function'


def _iter_tables(source: From) -> Iterator[tuple[int, Table]]:
    if isinstance(source, Join):
        yield from _iter_tables(source.left)
        yield from _iter_tables(source.right)
    elif isinstance(source, Scan):
        yield source.rel, source.table


def _determines(keys: Sequence[Expr], rel: int, table: Table) -> bool:
    grouped = {table.columns[key.index].name for key in keys if isinstance(key, Column) and key.rel == rel}
    return bool(table.primary_key) and not table.primary_key_deferrable and grouped >= set(table.primary_key)
