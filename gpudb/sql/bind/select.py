"""SELECT, set operations and VALUES, with WITH, ORDER BY and LIMIT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.errors import FeatureNotSupported, GpudbError, SqlError, UndefinedColumn
from gpudb.sql.bind.binder import Binder
from gpudb.sql.bind.coerce import branch_type, check_equality, condition, settled, unify_branches
from gpudb.sql.bind.expressions import bind_expression
from gpudb.sql.bind.from_clause import bind_from
from gpudb.sql.bind.grouping import bind_group_by, check_grouped, output_at
from gpudb.sql.bind.lending import grouped_below
from gpudb.sql.bind.limits import bind_limits, limited
from gpudb.sql.bind.missing import missing_table
from gpudb.sql.bind.ordering import sort_key
from gpudb.sql.bind.output_names import output_name
from gpudb.sql.bind.scope import CteStub, Scope
from gpudb.sql.bind.windows import named_windows
from gpudb.sql.bind.wrap import projected, retyped
from gpudb.sql.bound import (
    Column,
    Cte,
    Expr,
    From,
    Join,
    OutputColumn,
    Query,
    Row,
    Scan,
    Select,
    SetOperation,
    SortKey,
    Values,
)
from gpudb.sql.parse import inner, kind, leftmost, present, strings
from gpudb.types import UNKNOWN

Targets = list[tuple[str, Expr]]


def bind_query(binder: Binder, node: Any, outer: Scope | None, *, settle: bool = True) -> Query:
    """A SelectStmt message as a query.

    Without `settle` an output that is an untyped literal stays one, for whoever gives it a type (`retyped`).
    """
    binder.depth += 1
    try:
        if binder.depth > 100:
            raise SqlError.of("statement_too_complex", "stack depth limit exceeded")
        scope = Scope(parent=outer)
        ctes = bind_with(binder, scope, node.with_clause) if node.HasField("with_clause") else ()
        if len(node.locking_clause):
            raise FeatureNotSupported("row locking (FOR UPDATE, FOR SHARE) is not supported")
        if node.HasField("into_clause"):
            raise FeatureNotSupported("SELECT … INTO is not allowed here")
        if node.op != pg.SETOP_NONE:
            return _set_operation(binder, scope, node, ctes)
        if len(node.values_lists):
            return _values(binder, scope, node, ctes, settle=settle)
        return _select(binder, scope, node, ctes, settle=settle)
    finally:
        binder.depth -= 1


# ------------------------------------------------------------------------------------------------ WITH


def bind_with(binder: Binder, scope: Scope, clause: Any) -> tuple[Cte, ...]:
    """The definitions of a WithClause message; the scope knows them from then on."""
    made = []
    for each in clause.ctes:
        node = inner(each)
        if node.ctename in scope.ctes:
            message = f'WITH query name "{node.ctename}" specified more than once'
            raise binder.locate(SqlError.of("duplicate_alias", message), node.location)
        if kind(node.ctequery) != "select_stmt":
            message = "WITH clause containing a data-modifying statement must be at the top level"
            raise binder.locate(FeatureNotSupported(message), node.location)
        cte = bind_cte(binder, scope, node, recursive=clause.recursive)
        scope.ctes[node.ctename] = (cte, cte.number)
        made.append(cte)
    return tuple(made)


def bind_cte(binder: Binder, scope: Scope, node: Any, *, recursive: bool) -> Cte:
    """A CommonTableExpr message over a SELECT."""
    number = binder.cte()
    body = inner(node.ctequery)
    names = strings(node.aliascolnames)
    recursive = recursive and refers_to(body, node.ctename)
    if recursive:
        query = _recursive(binder, scope, node, body, number, names)
    else:
        query = renamed(bind_query(binder, body, scope), names, node.ctename)
    materialized = {pg.CTEMaterializeAlways: True, pg.CTEMaterializeNever: False}.get(node.ctematerialized)
    return Cte(number, node.ctename, query, materialized, recursive)


def refers_to(node: Any, name: str) -> bool:
    """Whether a parse tree names a relation without schema."""
    if node.DESCRIPTOR.name == "RangeVar":
        return bool(node.relname == name and not node.schemaname)
    for field, value in node.ListFields():
        if field.message_type is None:
            continue
        values = value if not hasattr(value, "DESCRIPTOR") else (value,)
        if any(refers_to(each, name) for each in values):
            return True
    return False


def _recursive(binder: Binder, scope: Scope, node: Any, body: Any, number: int, names: Sequence[str]) -> Query:
    """WITH RECURSIVE: the first term gives the columns, the second sees them under the query's own name."""
    if body.op != pg.SETOP_UNION or body.sort_clause or present(body.limit_count) or present(body.limit_offset):
        message = (
            f'recursive query "{node.ctename}" does not have the form non-recursive-term UNION [ALL] recursive-term'
        )
        raise SqlError.of("invalid_recursion", message)
    if refers_to(body.larg, node.ctename):
        message = f'recursive reference to query "{node.ctename}" must not appear within its non-recursive term'
        raise SqlError.of("invalid_recursion", message)
    first = renamed(bind_query(binder, body.larg, scope), names, node.ctename)
    inside = Scope(parent=scope)
    inside.ctes[node.ctename] = (CteStub(first.columns), number)
    second = bind_query(binder, body.rarg, inside)
    if len(second.columns) != len(first.columns):
        raise SqlError.of("syntax_error", "each UNION query must have the same number of columns")
    for index, (a, b) in enumerate(zip(first.columns, second.columns, strict=True)):
        if a.type.name != b.type.name:
            message = (
                f'recursive query "{node.ctename}" column {index + 1} has type {a.type} in non-recursive term '
                f"but type {b.type} overall"
            )
            raise SqlError.of("datatype_mismatch", message)
    second = projected(binder, second, {i: c.type for i, c in enumerate(first.columns)}, "e")
    return SetOperation(first.columns, "UNION", body.all, first, second)


def renamed(query: Query, names: Sequence[str], what: str) -> Query:
    """A query whose first columns take other names; 42P10 for too many."""
    if len(names) > len(query.columns):
        message = f'WITH query "{what}" has {len(query.columns)} columns available but {len(names)} columns specified'
        raise SqlError.of("invalid_column_reference", message)
    kept = query.columns[len(names) :]
    columns = tuple(replace(c, name=n) for c, n in zip(query.columns, names, strict=False))
    return replace(query, columns=(*columns, *kept)) if names else query


# ------------------------------------------------------------------------------------------------ SELECT


def _select(binder: Binder, scope: Scope, node: Any, ctes: tuple[Cte, ...], *, settle: bool) -> Query:
    source = bind_from(binder, scope, node.from_clause)
    where = None
    if present(node.where_clause):
        scope.clause = "WHERE"
        where = condition(binder, bind_expression(binder, scope, node.where_clause), "WHERE")
    scope.windows = named_windows(node.window_clause)
    scope.clause = "SELECT"
    targets = bind_targets(binder, scope, node.target_list, settle=settle)
    scope.clause = "GROUP BY"
    keys, sets = bind_group_by(binder, scope, node.group_clause, targets, distinct=node.group_distinct)
    having = None
    if present(node.having_clause):
        scope.clause = "HAVING"
        having = condition(binder, bind_expression(binder, scope, node.having_clause), "HAVING")
    scope.clause = "ORDER BY"
    order = _order_by(binder, scope, node.sort_clause, targets)
    distinct = _distinct(binder, scope, node.distinct_clause, targets, order)
    grouped = bool(keys) or sets is not None or having is not None or scope.aggregates
    exprs = [expr for _, expr in targets]
    if grouped:
        used = [*exprs, *(key.expr for key in order), *([having] if having is not None else [])]
        implied = check_grouped(binder, scope, keys, sets, used, source)
        if sets is not None:
            extra = tuple(range(len(keys), len(keys) + len(implied)))
            sets = tuple((*each, *extra) for each in sets)
        keys = (*keys, *implied)
    limit, offset = bind_limits(binder, scope, node)
    columns = tuple(_output(name, expr, source) for name, expr in targets)
    made = Select(
        columns, tuple(exprs), source, where, grouped, keys, sets, having, distinct, order, limit, offset, ctes
    )
    return limited(binder, grouped_below(binder, made, scope.lent) if scope.lent else made, node)


def bind_targets(binder: Binder, scope: Scope, nodes: Sequence[Any], *, settle: bool = True) -> Targets:
    """The select list, stars expanded; untyped literals have become text where `settle` asks for it."""
    targets: Targets = []
    for each in nodes:
        node = inner(each)
        if kind(node.val) == "column_ref" and kind(inner(node.val).fields[-1]) == "a_star":
            targets += _star(binder, scope, inner(node.val))
            continue
        expr = bind_expression(binder, scope, node.val)
        if isinstance(expr, Row):
            raise FeatureNotSupported("a whole row as a result column is not supported")
        targets.append((node.name or output_name(node.val), settled(binder, expr) if settle else expr))
    return targets


def _star(binder: Binder, scope: Scope, node: Any) -> Targets:
    try:
        names = strings(node.fields[:-1])
        if not names:
            if not scope.items and not scope.columns:
                raise SqlError.of("syntax_error", "SELECT * with no tables specified is not valid")
            _note_star(binder, node, [(_owner(scope, name, expr), name) for name, expr in scope.columns])
            return list(scope.columns)
        item = scope.relation(names[-1], names[-2] if len(names) > 1 else None)
        if item is None:
            raise missing_table(scope, names[-1])
        _note_star(binder, node, [(names, name) for name, _ in item.columns])
        return list(item.columns)
    except GpudbError as error:
        raise binder.locate(error, node.location) from None


def _owner(scope: Scope, name: str, expr: Expr) -> tuple[str, ...]:
    """How the one relation is called that a column belongs to; () for a column that a join merged."""
    owners = [item for item in scope.items if item.alias and (name, expr) in item.columns]
    if len(owners) != 1:
        return ()
    alone = sum(item.alias == owners[0].alias for item in scope.items) == 1
    return (owners[0].alias,) if alone or owners[0].schema is None else (owners[0].schema, owners[0].alias)


def _note_star(binder: Binder, node: Any, columns: list[tuple[tuple[str, ...], str]]) -> None:
    """Keeps what a star stands for; one whose columns cannot be told apart by name stays a star."""
    if binder.stars is not None and len(set(columns)) == len(columns):
        binder.stars[node.location] = tuple((*owner, name) for owner, name in columns)


def _output(name: str, expr: Expr, source: From | None) -> OutputColumn:
    if isinstance(expr, Column) and source is not None:
        for scan in _scans(source):
            if scan.rel == expr.rel and expr.index < len(scan.table.columns):
                return OutputColumn(name, expr.type, scan.table.oid, expr.index + 1)
    return OutputColumn(name, expr.type)


def _scans(source: From) -> list[Scan]:
    if isinstance(source, Join):
        return _scans(source.left) + _scans(source.right)
    return [source] if isinstance(source, Scan) else []


def _order_by(binder: Binder, scope: Scope, nodes: Sequence[Any], targets: Targets) -> tuple[SortKey, ...]:
    """ORDER BY items: an output's name or position, or an expression over the input."""
    keys = []
    for each in nodes:
        node = inner(each)
        expr = _output_reference(binder, node.node, targets, "ORDER BY")
        if expr is None:
            expr = bind_expression(binder, scope, node.node)
        keys.append(sort_key(binder, expr, node))
    return tuple(keys)


def _output_reference(binder: Binder, node: Any, targets: Targets, clause: str) -> Expr | None:
    if kind(node) == "a_const":
        return output_at(binder, node, targets, clause)
    if kind(node) == "column_ref" and len(inner(node).fields) == 1 and kind(inner(node).fields[0]) == "string":
        (name,) = strings(inner(node).fields)
        named = [expr for each, expr in targets if each == name]
        if len(set(named)) > 1:
            raise SqlError.of("ambiguous_column", f'{clause} "{name}" is ambiguous')
        if named:
            return named[0]
    return None


def _distinct(
    binder: Binder, scope: Scope, nodes: Sequence[Any], targets: Targets, order: tuple[SortKey, ...]
) -> bool | tuple[Expr, ...]:
    if not len(nodes):
        return False
    if not present(nodes[0]):
        selected = [expr for _, expr in targets]
        for key in order:
            if key.expr not in selected:
                message = "for SELECT DISTINCT, ORDER BY expressions must appear in select list"
                raise binder.locate_expr(SqlError.of("invalid_column_reference", message), key.expr)
        check_equality(expr.type for _, expr in targets)
        return True
    made = []
    for node in nodes:
        expr = _output_reference(binder, node, targets, "DISTINCT ON")
        made.append(expr if expr is not None else settled(binder, bind_expression(binder, scope, node)))
    leading = [key.expr for key in order[: len(made)]]
    if any(expr not in made for expr in leading):
        message = "SELECT DISTINCT ON expressions must match initial ORDER BY expressions"
        raise SqlError.of("invalid_column_reference", message)
    return tuple(made)


# ------------------------------------------------------------------------------------------------ set operations


def _set_operation(binder: Binder, scope: Scope, node: Any, ctes: tuple[Cte, ...]) -> Query:
    op = pg.SetOperation.Name(node.op).removeprefix("SETOP_")
    left, right = (bind_query(binder, each, scope, settle=False) for each in (node.larg, node.rarg))
    if len(left.columns) != len(right.columns):
        error = SqlError.of("syntax_error", f"each {op} query must have the same number of columns")
        raise binder.locate(error, _output_location(node.rarg, 0))
    types = []
    for index, (one, other) in enumerate(zip(left.columns, right.columns, strict=True)):
        try:
            types.append(branch_type([Column(0, 0, one.type), Column(0, 0, other.type)], op))
        except GpudbError as mismatch:
            raise binder.locate(mismatch, _output_location(node.rarg, index)) from None
    if not (node.all and op == "UNION"):
        check_equality(types)
    sides = []
    for side in (left, right):
        differing = {
            index: wanted
            for index, (column, wanted) in enumerate(zip(side.columns, types, strict=True))
            if column.type != wanted
        }
        sides.append(retyped(binder, side, differing) if differing else side)
    columns = tuple(OutputColumn(c.name, t) for c, t in zip(left.columns, types, strict=True))
    order = _positions(binder, node.sort_clause, columns)
    limit, offset = bind_limits(binder, scope, node)
    return limited(binder, SetOperation(columns, op, node.all, sides[0], sides[1], order, limit, offset, ctes), node)


def _output_location(node: Any, index: int) -> int:
    """Where the expression of an output column begins in a SelectStmt message; -1 behind a star."""
    while node.op != pg.SETOP_NONE:
        node = node.larg
    if len(node.values_lists):
        return leftmost(inner(node.values_lists[0]).items[index])
    outputs = node.target_list
    return leftmost(inner(outputs[index]).val) if index < len(outputs) else -1


def _positions(
    binder: Binder, nodes: Sequence[Any], columns: Sequence[OutputColumn]
) -> tuple[tuple[int, bool, bool], ...]:
    made = []
    targets: Targets = [(column.name, Column(0, index, column.type)) for index, column in enumerate(columns)]
    for each in nodes:
        node = inner(each)
        expr = _output_reference(binder, node.node, targets, "ORDER BY")
        if expr is None and kind(node.node) == "column_ref" and len(inner(node.node).fields) == 1:
            (name,) = strings(inner(node.node).fields)
            raise binder.locate(UndefinedColumn(f'column "{name}" does not exist'), inner(node.node).location)
        if not isinstance(expr, Column):
            raise FeatureNotSupported(
                "invalid UNION/INTERSECT/EXCEPT ORDER BY clause",
                detail="Only result column names can be used, not expressions or functions.",
                hint="Add the expression/function to every SELECT, or move the UNION into a FROM clause.",
            )
        descending = node.sortby_dir == pg.SORTBY_DESC
        first = {pg.SORTBY_NULLS_FIRST: True, pg.SORTBY_NULLS_LAST: False}.get(node.sortby_nulls, descending)
        made.append((expr.index, descending, first))
    return tuple(made)


def _values(binder: Binder, scope: Scope, node: Any, ctes: tuple[Cte, ...], *, settle: bool) -> Query:
    scope.clause = "VALUES"
    rows = [[bind_expression(binder, scope, each) for each in inner(values).items] for values in node.values_lists]
    for row, values in zip(rows, node.values_lists, strict=True):
        if len(row) != len(rows[0]):
            error = SqlError.of("syntax_error", "VALUES lists must all be the same length")
            raise binder.locate(error, leftmost(inner(values).items[0]))
    columns, cells = [], []
    for number, column in enumerate(zip(*rows, strict=True), 1):
        untyped = not settle and all(expr.type.name == "unknown" for expr in column)
        exprs, target = (column, UNKNOWN) if untyped else unify_branches(binder, column, "VALUES")
        columns.append(OutputColumn(f"column{number}", target))
        cells.append(exprs)
    outputs = tuple(columns)
    order = _positions(binder, node.sort_clause, outputs)
    limit, offset = bind_limits(binder, scope, node)
    return limited(binder, Values(outputs, tuple(zip(*cells, strict=True)), order, limit, offset, ctes), node)
