"""MERGE: source rows joined to their target rows, and for each pair the first WHEN clause that applies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.tables import Table
from gpudb.errors import FeatureNotSupported, GpudbError, SqlError
from gpudb.sql.accesses import RelationAccess
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.dml.generated_columns import compute_generated, list_updated
from gpudb.sql.bind.dml.insert import bind_insert_columns, bind_insert_row, get_override
from gpudb.sql.bind.dml.targets import ROW_ID, as_target, bind_assignments, bind_column_default
from gpudb.sql.bind.expressions.expressions import bind_expression
from gpudb.sql.bind.expressions.operators import apply_operator
from gpudb.sql.bind.name_errors import Entry
from gpudb.sql.bind.query.from_clause import bind_source
from gpudb.sql.bind.query.sources import Source, build_source, find_relation, names_no_rows, table_columns
from gpudb.sql.bind.query.with_clause import bind_with
from gpudb.sql.bind.scope import Columns, NamespaceItem, Scope
from gpudb.sql.bind.types.conversions import coerce_condition
from gpudb.sql.bound import (
    BoolOp,
    Case,
    Column,
    Constant,
    Derived,
    Expr,
    InList,
    Join,
    Merge,
    OutputColumn,
    Scan,
    Select,
    Test,
)
from gpudb.sql.parse.parser import inner, present
from gpudb.types import BOOL, INT4, INT8, TEXT, SqlType

INSERT, UPDATE, DELETE = 1, 2, 3
_NOTHING = 0
_EVENTS = {INSERT: "INSERT", UPDATE: "UPDATE", DELETE: "DELETE"}
_PRIVILEGES = {pg.CMD_INSERT: "a", pg.CMD_UPDATE: "w", pg.CMD_DELETE: "d"}
_ACTION = OutputColumn("action", INT4)


@dataclass(frozen=True, slots=True)
class _Clause:
    """A WHEN clause: its action and condition, the values of all columns, and the columns that its SET assigns."""

    action: int
    matched: bool
    test: Expr | None
    values: tuple[Expr, ...] = ()
    assigned: tuple[str, ...] = ()


def bind_merge(binder: Binder, node: Any, outer: Scope | None = None) -> Merge:
    """Binds a MergeStmt message."""
    if node.HasField("returning_clause"):
        raise SqlError.of("syntax_error", 'syntax error at or near "RETURNING"')
    if node.with_clause.recursive:
        error = SqlError.of("syntax_error", "WITH RECURSIVE is not supported for MERGE statement")
        raise binder.locate(error, node.with_clause.location)
    table = _bind_target(binder, node.relation)
    _check_reachable(node.merge_when_clauses)
    scope = Scope(parent=outer)
    ctes = bind_with(binder, scope, node.with_clause) if node.HasField("with_clause") else ()
    privileges = {_PRIVILEGES.get(inner(each).command_type, "") for each in node.merge_when_clauses} - {""}
    rows = _JoinedRows(binder, node, table, scope, binder.accesses.add_relation(table, "".join(privileges)))
    clauses = [_bind_clause(binder, rows, table, inner(each)) for each in node.merge_when_clauses]
    query = replace(rows.build_query(clauses), ctes=ctes)
    generated = compute_generated(binder, table.name, table.columns, query, 1 + len(ROW_ID))
    assigned = list_updated(table, (name for clause in clauses for name in clause.assigned))
    actions = {clause.action for clause in clauses}
    events = tuple(name for action, name in _EVENTS.items() if action in actions)
    return Merge(table, generated, assigned=assigned, events=events, target=rows.target)


def _bind_target(binder: Binder, relation: Any) -> Table:
    try:
        if relation.schemaname in {"pg_catalog", "information_schema"}:
            message = f"permission denied for table {relation.relname}"
            raise SqlError.of("insufficient_privilege", message, position=0)
        found = find_relation(binder, relation.schemaname, relation.relname)
    except GpudbError as error:
        raise binder.locate(error, relation.location) from None
    if not isinstance(found, Table) or found.is_elsewhere:
        message = f'cannot execute MERGE on relation "{found.name}"'
        kind = "foreign tables" if found.kind == "f" else "views"
        raise FeatureNotSupported(message, detail=f"This operation is not supported for {kind}.")
    if names_no_rows(found, relation):
        raise FeatureNotSupported("MERGE INTO ONLY of a partitioned table is not supported")
    return found


def _check_reachable(nodes: Sequence[Any]) -> None:
    ended = {True: False, False: False}
    for each in map(inner, nodes):
        if each.match_kind == pg.MERGE_WHEN_NOT_MATCHED_BY_SOURCE:
            raise FeatureNotSupported("WHEN NOT MATCHED BY SOURCE is not supported")
        if ended[_is_matched(each)]:
            message = "unreachable WHEN clause specified after unconditional WHEN clause"
            raise SqlError.of("syntax_error", message)
        ended[_is_matched(each)] = not present(each.condition)


def _is_matched(node: Any) -> bool:
    return bool(node.match_kind == pg.MERGE_WHEN_MATCHED)


class _JoinedRows:
    """The join of source rows to target rows, with all columns of both; unmatched source rows are kept.

    Conditions are over that relation. Values are over a second one, which adds the number of the chosen clause.
    """

    def __init__(self, binder: Binder, node: Any, table: Table, scope: Scope, access: RelationAccess) -> None:
        self._binder = binder
        self.access = access
        self._table = table
        self._outer = scope
        self.target = target_rel = binder.new_rel()
        scan = Scan(target_rel, table, row_ids=True)
        binder.accesses.add_columns(target_rel, access, [column.name for column in table.columns])
        alias = node.relation.alias if node.relation.HasField("alias") else None
        columns, oid = table_columns(table), table.catalog_oid
        self._target = build_source(binder, target_rel, scan, columns, table.name, alias, table.schema, oid=oid)
        self._source = bind_source(binder, scope, node.source_relation)
        self._check_names()
        level = Scope(parent=scope.parent, ctes=scope.ctes, clause="JOIN", entries=scope.entries)
        for each in (self._target, self._source):
            level.add(each.items, each.columns)
            level.rels |= each.rels
        on = coerce_condition(binder, bind_expression(binder, level, node.join_condition), "JOIN/ON")
        inserts = any(not _is_matched(inner(each)) for each in node.merge_when_clauses)
        join = Join("LEFT" if inserts else "INNER", self._source.relation, scan, on)
        width = len(table.columns)
        place = (Column(target_rel, width, TEXT, "file"), Column(target_rel, width + 1, INT8, "row"))
        exprs = (expr for each in (self._target, self._source) for expr in _list_expressions(each))
        self._held: tuple[Expr, ...] = tuple(dict.fromkeys((*place, *exprs)))
        self._first, self._second = binder.new_rel(), binder.new_rel()
        for rel in (self._first, self._second):
            binder.accesses.add_derived(rel, self._held)
        names = tuple(OutputColumn(f"k{n}", expr.type) for n, expr in enumerate(self._held))
        self._pairs = Derived(self._first, Select(names, self._held, join))

    def _check_names(self) -> None:
        name = self._target.items[0].alias
        if any(item.alias == name for item in self._source.items):
            message = f'name "{name}" specified more than once'
            detail = "The name is used both as MERGE target table and data source."
            raise SqlError.of("duplicate_alias", message, detail=detail)

    def _columns(self, rel: int, columns: Columns) -> Columns:
        return tuple((n, Column(rel, self._held.index(expr), expr.type, n)) for n, expr in columns)

    def scope(self, clause: str, *, matched: bool, chosen: bool) -> Scope:
        """Returns the scope of a clause: both sides or the source, for its condition or (`chosen`) its values."""
        rel = self._second if chosen else self._first
        result = Scope(parent=self._outer.parent, ctes=self._outer.ctes, clause=clause)
        result.entries.extend(Entry(i.alias, tuple(n for n, _ in i.columns), i.alias) for i in self._target.items)
        for each in (self._target, self._source) if matched else (self._source,):
            items = [
                NamespaceItem(i.alias, self._columns(rel, i.columns), i.schema, self._columns(rel, i.hidden))
                for i in each.items
            ]
            result.add(items, self._columns(rel, each.columns))
        result.rels.add(rel)
        return result

    def old_columns(self) -> dict[str, Expr]:
        """Returns the target row's columns by name, for values."""
        names = (column.name for column in self._table.columns)
        return {n: e for n, (_, e) in zip(names, self._columns(self._second, self._target.columns), strict=True)}

    def build_query(self, clauses: Sequence[_Clause]) -> Select:
        """Returns the query of all writes: for each pair its action, the stored row's position, and the columns."""
        target_file = Column(self._first, 0, TEXT)
        branches: list[tuple[Expr, Expr]] = []
        for place_in_list, clause in enumerate(clauses):
            test: Expr = Test(target_file, "NULL", clause.matched)
            if clause.test is not None:
                test = BoolOp("AND", (test, clause.test))
            branches.append((test, Constant(place_in_list, INT4)))
        which = Case(tuple(branches), Constant(None, INT4), INT4)
        inputs = (Column(self._first, n, expr.type) for n, expr in enumerate(self._held))
        exprs: tuple[Expr, ...] = (*inputs, which)
        names = tuple(OutputColumn(f"k{n}", expr.type) for n, expr in enumerate(exprs))
        numbered = Derived(self._second, Select(names, exprs, self._pairs))
        acting = [(n, clause) for n, clause in enumerate(clauses) if clause.action != _NOTHING]
        number = Column(self._second, len(self._held), INT4)

        def choose(values: Sequence[Expr], item: SqlType) -> Expr:
            if not acting:
                return Constant(None, item)
            tests = (apply_operator(self._binder, "=", number, Constant(n, INT4)) for n, _ in acting)
            return Case(tuple(zip(tests, values, strict=True)), Constant(None, item), item)

        action = choose([Constant(clause.action, INT4) for _, clause in acting], INT4)
        place = (Column(self._second, 0, TEXT, "file"), Column(self._second, 1, INT8, "row"))
        values = [
            choose([clause.values[index] for _, clause in acting], column.type)
            for index, column in enumerate(self._table.columns)
        ]
        numbers = tuple(Constant(n, INT4) for n, _ in acting)
        some: Expr = InList(number, numbers, False) if numbers else Constant(False, BOOL)
        return Select((_ACTION, *ROW_ID, *table_columns(self._table)), (action, *place, *values), numbered, some)


def _list_expressions(source: Source) -> list[Expr]:
    listed = [expr for item in source.items for _, expr in (*item.columns, *item.hidden)]
    return [*listed, *(expr for _, expr in source.columns)]


def _bind_clause(binder: Binder, rows: _JoinedRows, table: Table, node: Any) -> _Clause:
    test = None
    if present(node.condition):
        scope = rows.scope("MERGE WHEN", matched=_is_matched(node), chosen=False)
        test = coerce_condition(binder, bind_expression(binder, scope, node.condition), "WHEN")
    old = rows.old_columns()
    match node.command_type:
        case pg.CMD_DELETE:
            return _Clause(DELETE, True, test, tuple(old.values()))
        case pg.CMD_UPDATE:
            scope = rows.scope("UPDATE", matched=True, chosen=True)
            rows.access.updated.update(inner(each).name for each in node.target_list)
            assigned = bind_assignments(binder, scope, as_target(table), node.target_list, tuple(old.values()))
            return _Clause(UPDATE, True, test, tuple((old | assigned).values()), tuple(assigned))
        case pg.CMD_INSERT:
            scope = rows.scope("VALUES", matched=False, chosen=True)
            names = [inner(each).name for each in node.target_list] or [c.name for c in table.columns]
            rows.access.inserted.update(names[: len(node.values)])
            return _Clause(INSERT, False, test, _bind_insert(binder, scope, table, node))
    return _Clause(_NOTHING, _is_matched(node), test)


def _bind_insert(binder: Binder, scope: Scope, table: Table, node: Any) -> tuple[Expr, ...]:
    if not len(node.values):
        return tuple(bind_column_default(binder, column) for column in table.columns)
    target_columns = bind_insert_columns(binder, as_target(table), node.target_list)
    return bind_insert_row(binder, scope, table, target_columns, node.values, node.target_list, get_override(node))
