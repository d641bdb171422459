"""WITH: queries by name; recursive ones are bound term by term."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.errors import DatatypeMismatch, FeatureNotSupported, GpudbError, SqlError
from gpudb.functions.carried import is_wide_layout
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.query.recursion import check_recursion, check_termination, refers_to, sort_by_reference
from gpudb.sql.bind.query.search_cycle import bind_search_cycle
from gpudb.sql.bind.scope import CteStub, Scope
from gpudb.sql.bind.types.coercion import resolve_branch_type
from gpudb.sql.bind.types.column_coercion import coerce_columns
from gpudb.sql.bind.types.conversions import check_equality
from gpudb.sql.bound import Aggregate, Column, Cte, CteScan, Query, Select, SetOperation
from gpudb.sql.parse.parser import inner, kind, output_location, strings
from gpudb.sql.traverse import walk
from gpudb.types import CARRIED_SCALE, MAX_DIGITS, WIDE_NUMERIC, SqlType, exact_numeric


def bind_with(binder: Binder, scope: Scope, clause: Any) -> tuple[Cte, ...]:
    """Binds the queries of a WithClause message and adds them to the scope."""
    nodes = [inner(each) for each in clause.ctes]
    check_names(binder, nodes)
    if clause.recursive:
        nodes = sort_by_reference(binder, nodes)
    result = []
    for node in nodes:
        if kind(node.ctequery) != "select_stmt":
            message = "WITH clause containing a data-modifying statement must be at the top level"
            raise binder.locate(FeatureNotSupported(message), node.location)
        *inner_ones, cte = bind_cte(binder, scope, node, recursive=clause.recursive)
        scope.ctes[node.ctename] = (cte, cte.number)
        result += [*inner_ones, cte]
    return tuple(result)


def check_names(binder: Binder, nodes: Sequence[Any]) -> None:
    """Raises 42712 for a name that two queries of a WITH share."""
    seen: set[str] = set()
    for node in nodes:
        if node.ctename in seen:
            message = f'WITH query name "{node.ctename}" specified more than once'
            raise binder.locate(SqlError.of("duplicate_alias", message), node.location)
        seen.add(node.ctename)


def bind_cte(binder: Binder, scope: Scope, node: Any, *, recursive: bool) -> tuple[Cte, ...]:
    """Binds a CommonTableExpr message over a SELECT; the queries of a recursive one's own WITH precede it."""
    number = binder.new_cte()
    recursive = recursive and refers_to(node.ctequery, node.ctename)
    names = strings(node.aliascolnames)
    own: tuple[Cte, ...] = ()
    try:
        if recursive:
            scope = Scope(parent=scope)
            body = inner(node.ctequery)
            own = bind_with(binder, scope, body.with_clause) if body.HasField("with_clause") else ()
            query = _bind_recursive(binder, scope, node, number, names)
        else:
            query = rename_columns(_bind_term(binder, inner(node.ctequery), scope), names, node.ctename)
    except GpudbError as error:
        raise binder.locate(error, node.location) from None
    materialized = {pg.CTEMaterializeAlways: True, pg.CTEMaterializeNever: False}.get(node.ctematerialized)
    return *own, Cte(number, node.ctename, query, materialized, recursive)


def _bind_term(binder: Binder, node: Any, scope: Scope, *, resolve_unknowns: bool = True) -> Query:
    return binder.bind_query(node, scope, resolve_unknowns=resolve_unknowns)


def _bind_recursive(binder: Binder, scope: Scope, node: Any, number: int, names: Sequence[str]) -> Query:
    """Binds a recursive query: its second term sees the columns of the first under the query's name."""
    body = inner(node.ctequery)
    check_recursion(binder, node, body)
    first = rename_columns(_bind_term(binder, body.larg, scope), names, node.ctename)
    first = coerce_columns(
        binder, first, {i: _open_type(c.type) for i, c in enumerate(first.columns) if _open_type(c.type) != c.type}
    )
    first = replace(first, columns=tuple(replace(c, type=_open_type(c.type)) for c in first.columns))
    search_cycle = bind_search_cycle(binder, scope, node, first.columns)
    width, first_term = len(first.columns), first if search_cycle is None else search_cycle.start(first)
    inside = Scope(parent=scope)
    inside.ctes[node.ctename] = (CteStub(first.columns, first_term.columns[width:]), number)
    second = _bind_term(binder, body.rarg, inside, resolve_unknowns=False)
    _check_aggregates(binder, second, number)
    check_termination(node.ctename, second)
    if len(second.columns) != len(first.columns):
        raise SqlError.of("syntax_error", "each UNION query must have the same number of columns")
    mismatched = {}
    for index, (one, other) in enumerate(zip(first.columns, second.columns, strict=True)):
        overall = resolve_branch_type([Column(0, 0, one.type), Column(0, 0, other.type)], "UNION")
        declared = one.type.modifier not in (-1, other.type.modifier)
        if overall.name != one.type.name or declared:
            shown = one.type if declared else one.type.plain
            message = (
                f'recursive query "{node.ctename}" column {index + 1} has type {shown.unmodified_name} in non-recursive'
                f" term but type {overall.plain.unmodified_name} overall"
            )
            hint = "Cast the output of the non-recursive term to the correct type."
            raise binder.locate(DatatypeMismatch(message, hint=hint), output_location(body.larg, index))
        if not body.all:
            check_equality([one.type])
        if other.type != one.type:
            mismatched[index] = one.type
    if search_cycle is None:
        return SetOperation(first.columns, "UNION", body.all, first, coerce_columns(binder, second, mismatched, "e"))
    reached = coerce_columns(binder, search_cycle.read_previous(second, number, first_term, width), mismatched, "e")
    return SetOperation(first_term.columns, "UNION", body.all, first_term, search_cycle.extend(reached, width))


def _check_aggregates(binder: Binder, query: Query, number: int) -> None:
    """Raises 42P19 for an aggregate over the recursive query itself."""
    for select in walk(query):
        if isinstance(select, Select) and select.grouped and select.source is not None:
            scans = [each for each in walk(select.source) if isinstance(each, CteScan) and each.cte == number]
            found = [each for target in select.targets for each in walk(target) if isinstance(each, Aggregate)]
            if scans and found:
                message = "aggregate functions are not allowed in a recursive query's recursive term"
                raise binder.locate_expr(SqlError.of("invalid_recursion", message), found[0])


def _open_type(item: SqlType) -> SqlType:
    """Returns a column's type in a recursive query, whose values, nested ones too, may gain digits in each term."""
    if item.fields:
        return replace(item, fields=tuple((name, _open_type(kind)) for name, kind in item.fields))
    if item.element is not None:
        return replace(_open_type(item.element), name=item.name, dims=item.dims)
    if item.name == "numeric" and (item.wide or (item.modifier == -1 and is_wide_layout())):
        return replace(WIDE_NUMERIC, modifier=item.modifier)
    if item.modifier != -1 or item.name not in {"numeric", "bpchar"}:
        return item
    if item.name == "bpchar":
        return replace(item, digits=None)
    # The columns of a stored table are read into it too, and must keep their decimals in every layout.
    return exact_numeric(MAX_DIGITS, CARRIED_SCALE, varying=True)


def rename_columns(query: Query, names: Sequence[str], query_name: str) -> Query:
    """Renames the first columns of a query; 42P10 for too many names."""
    if len(names) > len(query.columns):
        message = (
            f'WITH query "{query_name}" has {len(query.columns)} columns available but {len(names)} columns specified'
        )
        raise SqlError.of("invalid_column_reference", message)
    kept = query.columns[len(names) :]
    columns = tuple(replace(c, name=n) for c, n in zip(query.columns, names, strict=False))
    return replace(query, columns=(*columns, *kept)) if names else query
