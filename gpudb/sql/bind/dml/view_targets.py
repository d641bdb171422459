"""Targets of INSERT, UPDATE and DELETE: tables, and automatically updatable views."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.model import Catalog
from gpudb.catalog.relations import Relation, View
from gpudb.catalog.row_types import get_row_type
from gpudb.catalog.tables import Column as TableColumn
from gpudb.catalog.tables import Table
from gpudb.catalog.triggers import INSTEAD
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions.expressions import bind_expression
from gpudb.sql.bind.query.select import bind_query, bind_targets
from gpudb.sql.bind.query.sources import names_no_rows
from gpudb.sql.bind.scope import Columns, NamespaceItem, Scope
from gpudb.sql.bind.types.conversions import coerce_condition
from gpudb.sql.bound import Aggregate, Column, Constant, Expr, Select, SetReturning, Window
from gpudb.sql.parse.parser import inner, kind, parse, present, strings
from gpudb.sql.traverse import walk
from gpudb.types import BOOL
from gpudb.values.datetime_style import use_style

# The name of a trigger by the statement's verb
_VERBS = {
    "insert into": ("inserting into", "INSERT"),
    "update": ("updating", "UPDATE"),
    "delete from": ("deleting from", "DELETE"),
}


@dataclass(frozen=True, slots=True)
class ChangeTarget:
    """A table as the target of a change, under its own columns or through the columns and rows of a view.

    `columns` are the names that the statement sees, over the columns of the table's relation `rel`; `where` are the
    conditions of the view, of those that it reads first. `layers` are the relation that the statement names and those
    below it, each with its columns over `rel`. `barriers` count the conditions up to each security barrier: no other
    condition may see a row before these hold. `conditions` are those of each view, the lowest first.
    """

    table: Table
    rel: int
    columns: Columns
    where: tuple[Expr, ...] = ()
    view: View | None = None
    layers: tuple[tuple[Table | View, Columns], ...] = ()
    barriers: tuple[int, ...] = ()
    conditions: tuple[tuple[View, tuple[Expr, ...]], ...] = ()

    def list_checks(self) -> list[tuple[str, Expr]]:
        """Returns the conditions that CHECK OPTIONs demand of written rows, those of the lowest view first, each with
        the name of its view.
        """
        found: list[tuple[str, Expr]] = []
        cascaded = False
        for view, tests in reversed(self.conditions):
            cascaded = cascaded or view.check_option == "cascaded"
            if cascaded or view.check_option:
                found += [(view.name, test) for test in tests]
        return found[::-1]

    def column(self, name: str, verb: str) -> TableColumn | None:
        """Returns the table's column of a name; None without one, 0A000 for a computed one; `verb` is the verb."""
        for known, expr in self.columns:
            if known == name:
                if isinstance(expr, Column) and expr.rel == self.rel:
                    return self.table.columns[expr.index]
                assert self.view is not None
                detail = "View columns that are not columns of their base relation are not updatable."
                message = f'cannot {verb} column "{name}" of view "{self.view.name}"'
                raise FeatureNotSupported(message, detail=detail)
        return None

    @property
    def relation(self) -> Table | View:
        """The relation that the statement names."""
        return self.view or self.table


def list_tests_of_only(relation: Relation, node: Any) -> tuple[Expr, ...]:
    """Returns the condition that the rows of a relation satisfy which a RangeVar message names, if it is one."""
    return (Constant(False, BOOL),) if names_no_rows(relation, node) else ()


@use_style()
def resolve_target(binder: Binder, relation: Relation, rel: int, verb: str) -> ChangeTarget:
    """Returns the target for a table or an automatically updatable view, over its table's relation `rel`; 55000."""
    if isinstance(relation, Table):
        if relation.is_elsewhere:
            raise FeatureNotSupported(f'cannot {verb} foreign table "{relation.name}"')
        columns = tuple((c.name, Column(rel, n, c.type, c.name)) for n, c in enumerate(relation.columns))
        return ChangeTarget(relation, rel, columns, layers=((relation, columns),))
    assert isinstance(relation, View)
    if has_instead_trigger(relation, verb):
        table = view_as_table(relation)
        columns = tuple((c.name, Column(rel, n, c.type, c.name)) for n, c in enumerate(table.columns))
        return ChangeTarget(table, rel, columns, layers=((relation, columns),))
    node: Any = parse(relation.query)[0].node
    reason = _find_syntactic_reason(node) or _find_bound_reason(binder, relation)
    if reason is not None:
        raise _not_updatable(relation, verb, reason)
    base = inner(node.from_clause[0])
    below = binder.catalog.find(base.relname, (base.schemaname,))
    if not isinstance(below, Table | View) or (isinstance(below, Table) and below.query is not None):
        what = "that do not select from a single table or view are not automatically updatable"
        raise _not_updatable(relation, verb, what)
    result = resolve_target(binder, below, rel, verb)
    scope = Scope()
    alias = base.alias.aliasname if base.HasField("alias") else base.relname
    names = (*strings(base.alias.colnames),) if base.HasField("alias") else ()
    seen = tuple((names[n] if n < len(names) else name, expr) for n, (name, expr) in enumerate(result.columns))
    scope.add((NamespaceItem(alias, seen, base.schemaname if not base.HasField("alias") else None),), seen)
    scope.rels.add(rel)
    with binder.bind_stored(schema=relation.schema), binder.accesses.below(relation):
        targets = [expr for _, expr in bind_targets(binder, scope, node.target_list)]
        scope.clause = "WHERE"
        own = (
            (coerce_condition(binder, bind_expression(binder, scope, node.where_clause), "WHERE"),)
            if present(node.where_clause)
            else ()
        )
    view_columns: Columns = tuple((c.name, expr) for c, expr in zip(relation.columns, targets, strict=True))
    if verb != "delete from" and not any(isinstance(expr, Column) and expr.rel == rel for _, expr in view_columns):
        raise _not_updatable(relation, verb, "that have no updatable columns are not automatically updatable")
    table = result.table if verb == "delete from" else _apply_defaults(result.table, rel, relation, view_columns)
    layers = ((relation, view_columns), *result.layers)
    where = (*result.where, *list_tests_of_only(below, base), *own)
    barriers = (*result.barriers, len(where)) if relation.security_barrier else result.barriers
    conditions = (*result.conditions, (relation, own))
    return ChangeTarget(table, rel, view_columns, where, relation, layers, barriers, conditions)


def _apply_defaults(table: Table, rel: int, view: View, view_columns: Columns) -> Table:
    """Returns the table with the defaults of the view's columns in place of its own."""
    columns = list(table.columns)
    for column, (_, expr) in zip(view.columns, view_columns, strict=True):
        if column.default is not None and isinstance(expr, Column) and expr.rel == rel:
            columns[expr.index] = replace(columns[expr.index], default=column.default)
    return replace(table, columns=tuple(columns))


def has_instead_trigger(view: View, verb: str) -> bool:
    """Whether a view has a trigger that runs instead of a statement with this verb."""
    event = _VERBS[verb][1]
    return any(each.timing == INSTEAD and event in each.events for each in view.triggers)


def view_as_table(view: View) -> Table:
    """Returns a table without rows that stands for a view whose INSTEAD OF triggers change it; its kind is `v`."""
    return Table(view.oid, view.schema, view.name, view.columns, view.owner, kind="v", triggers=view.triggers)


def find_base_table(catalog: Catalog, relation: Relation | None) -> Table | None:
    """Returns the table that a change of a relation changes; None if the relation is not updatable."""
    while isinstance(relation, View):
        node: Any = parse(relation.query)[0].node
        if len(node.from_clause) != 1 or kind(node.from_clause[0]) != "range_var":
            return None
        below = inner(node.from_clause[0])
        relation = catalog.find(below.relname, (below.schemaname,))
    return relation if isinstance(relation, Table) and relation.query is None else None


def _not_updatable(view: View, verb: str, reason: str) -> SqlError:
    action, event = _VERBS[verb]
    hint = (
        f"To enable {action} the view, provide an INSTEAD OF {event} trigger or an unconditional"
        f" ON {event} DO INSTEAD rule."
    )
    message = f'cannot {verb} view "{view.name}"'
    return SqlError.of("object_not_in_prerequisite_state", message, detail=f"Views {reason}.", hint=hint)


def _find_syntactic_reason(node: Any) -> str | None:
    """Returns the reason in a view's text why it is not updatable."""
    for is_present, what in (
        (len(node.distinct_clause), "containing DISTINCT are"),
        (len(node.group_clause), "containing GROUP BY are"),
        (present(node.having_clause), "containing HAVING are"),
        (node.op != pg.SETOP_NONE, "containing UNION, INTERSECT, or EXCEPT are"),
        (node.HasField("with_clause"), "containing WITH are"),
        (present(node.limit_count) or present(node.limit_offset), "containing LIMIT or OFFSET are"),
    ):
        if is_present:
            return f"{what} not automatically updatable"
    return None


@use_style()
def _find_bound_reason(binder: Binder, view: View) -> str | None:
    """Returns the reason in a view's select list or FROM why it is not updatable."""
    node: Any = parse(view.query)[0].node
    with binder.bind_stored(schema=view.schema), binder.accesses.pause():
        query = bind_query(binder, node, None)
    parts = [part for target in query.targets for part in walk(target)] if isinstance(query, Select) else []
    for found, what in ((Aggregate, "aggregate"), (Window, "window"), (SetReturning, "set-returning")):
        if any(isinstance(part, found) for part in parts):
            return f"that return {what} functions are not automatically updatable"
    if len(node.from_clause) != 1 or kind(node.from_clause[0]) != "range_var":
        return "that do not select from a single table or view are not automatically updatable"
    return None


def build_view_item(changed: ChangeTarget, alias: Any) -> NamespaceItem:
    """Returns a view as an item of a scope, under its name or that of an Alias message."""
    assert changed.view is not None
    if alias is None:
        return NamespaceItem(
            changed.view.name, changed.columns, changed.view.schema, row_type=get_row_type(changed.view)
        )
    if len(alias.colnames):
        raise FeatureNotSupported("names for the columns of a view that is changed are not supported")
    return NamespaceItem(alias.aliasname, changed.columns, row_type=get_row_type(changed.view))
