"""FROM: tables, views, WITH queries, subqueries, functions and joins, and the names in their scope."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Several
from dataclasses import replace
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.large_objects import CONTENT_NAME
from gpudb.catalog.models import CONTENT_SCHEMA
from gpudb.catalog.postgres.extension_objects import has_extension_object
from gpudb.catalog.postgres.function_tables import SEQUENCE_STATES
from gpudb.catalog.relations import Sequence, View
from gpudb.catalog.row_types import get_row_type
from gpudb.catalog.tables import Table
from gpudb.errors import FeatureNotSupported, GpudbError, SqlError
from gpudb.sql.accesses import RelationAccess
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions import operators
from gpudb.sql.bind.expressions.expressions import bind_expression
from gpudb.sql.bind.query.asof_join import bind_asof_join, read_asof_join
from gpudb.sql.bind.query.from_functions import bind_function
from gpudb.sql.bind.query.past_tables import bind_past_table, is_past
from gpudb.sql.bind.query.sources import (
    Source,
    add_hidden,
    build_barrier,
    build_entries,
    build_source,
    build_system_source,
    find_relation,
    mark_nullable,
    names_no_rows,
    table_columns,
)
from gpudb.sql.bind.query.table_expressions import expand_table_expression
from gpudb.sql.bind.query.table_sample import bind_sample
from gpudb.sql.bind.query.using import bind_using
from gpudb.sql.bind.scope import Columns, CteStub, NamespaceItem, Scope
from gpudb.sql.bind.types.conversions import coerce_condition
from gpudb.sql.bound import (
    Column,
    Constant,
    CteScan,
    Derived,
    Expr,
    ForeignScan,
    FrameScan,
    From,
    Join,
    OutputColumn,
    Scan,
    Select,
    SystemScan,
)
from gpudb.sql.parse.parser import inner, kind, parse, present, strings
from gpudb.types import BOOL, OID
from gpudb.values.datetime_style import use_style

_KINDS = {pg.JOIN_INNER: "INNER", pg.JOIN_LEFT: "LEFT", pg.JOIN_RIGHT: "RIGHT", pg.JOIN_FULL: "FULL"}


def bind_from(binder: Binder, scope: Scope, nodes: Several[Any]) -> From | None:
    """Binds the items of a FROM list, cross-joined; LATERAL items see those before them."""
    result: From | None = None
    for node in nodes:
        source = bind_source(binder, scope, node)
        scope.add(source.items, source.columns)
        scope.rels |= source.rels
        result = source.relation if result is None else Join("CROSS", result, source.relation, None)
    return result


def bind_source(binder: Binder, scope: Scope, node: Any) -> Source:
    """Binds one FROM item."""
    message = inner(node)
    try:
        if kind(node) == "join_expr":
            return _bind_join(binder, scope, message)
        bind = _BINDERS.get(kind(node))
        if bind is None:
            raise FeatureNotSupported(f"{kind(node).replace('_', ' ')} in FROM is not supported")
        result = bind(binder, scope, message)
    except GpudbError as error:
        raise binder.locate(error, getattr(message, "location", -1)) from None
    own = message.relname if kind(node) == "range_var" else None
    scope.entries += build_entries(result, own)
    return result


_BINDERS: dict[str, Callable[[Binder, Scope, Any], Source]] = {}


def _bind_relation(binder: Binder, scope: Scope, node: Any) -> Source:
    alias = node.alias if node.HasField("alias") else None
    if node.catalogname and node.catalogname != binder.catalog.database:
        name = f"{node.catalogname}.{node.schemaname}.{node.relname}"
        raise FeatureNotSupported(f'cross-database references are not implemented: "{name}"')
    rel = binder.new_rel()
    if not node.schemaname and (found := scope.resolve_cte(node.relname)) is not None:
        definition, number = found
        if isinstance(definition, CteStub) and not definition.returning:
            raise FeatureNotSupported(f'WITH query "{node.relname}" does not have a RETURNING clause')
        columns = definition.columns if isinstance(definition, CteStub) else definition.query.columns
        columns = tuple(replace(column, table_oid=0, number=0) for column in columns)
        result = build_source(binder, rel, CteScan(rel, number), columns, node.relname, alias)
        return (
            result if not isinstance(definition, CteStub) else add_hidden(result, rel, len(columns), definition.hidden)
        )
    if not node.schemaname and node.relname in binder.frames:
        columns = binder.frames[node.relname]
        return build_source(binder, rel, FrameScan(rel, node.relname, columns), columns, node.relname, alias)
    schema = node.schemaname or "pg_catalog"
    if has_extension_object(binder.catalog, schema, node.relname):
        binder.accesses.add_schema(schema)
        schema = "pg_catalog"
    pages = binder.catalog.relation(CONTENT_SCHEMA, CONTENT_NAME) if node.relname == CONTENT_NAME else None
    if (
        schema in {"pg_catalog", "information_schema"}
        and pages is None
        and (system := binder.system_columns(schema, node.relname)) is not None
    ):
        binder.cacheable = False
        names = [column.name for column in system]
        binder.accesses.add_relation(f"{schema}.{node.relname}", "r", rel, names)
        source = build_system_source(binder, rel, f"{schema}.{node.relname}", system, alias)
        if alias is None and node.schemaname:
            source = replace(source, items=tuple(replace(item, schema=node.schemaname) for item in source.items))
        return source
    relation = pages if pages and schema == "pg_catalog" else find_relation(binder, node.schemaname, node.relname)
    if isinstance(relation, View):
        return _bind_view(binder, rel, relation, alias)
    if isinstance(relation, Sequence):
        return _bind_sequence(binder, rel, relation, alias)
    binder.accesses.add_relation(relation, "r", rel, [column.name for column in relation.columns])
    if relation.is_elsewhere:
        foreign = ForeignScan(rel, relation, table_columns(relation), binder.accesses.role)
        return _build_table_source(binder, rel, foreign, relation, alias)
    scan = Scan(rel, relation) if not names_no_rows(relation, node) else _build_empty(binder, rel, relation)
    return _build_table_source(binder, rel, scan, relation, alias)


def _build_table_source(binder: Binder, rel: int, scan: From, table: Table, alias: Any) -> Source:
    columns = table_columns(table)
    row, oid = get_row_type(table), table.catalog_oid
    return build_source(binder, rel, scan, columns, table.name, alias, table.schema, row, oid)


def _build_empty(binder: Binder, rel: int, table: Table) -> Derived:
    """Returns the columns of a table without its rows."""
    inside, columns = binder.new_rel(), table_columns(table)
    values = tuple(Column(inside, index, column.type, column.name) for index, column in enumerate(columns))
    return Derived(rel, Select(columns, values, Scan(inside, table), Constant(False, BOOL)))


def _bind_sequence(binder: Binder, rel: int, sequence: Sequence, alias: Any) -> Source:
    """Returns the state of a sequence as a relation of one row."""
    states = binder.system_columns("pg_catalog", f"{SEQUENCE_STATES}()")
    if states is None:
        raise FeatureNotSupported("reading a sequence is not supported here")
    binder.cacheable = False
    binder.accesses.add_relation(sequence, "r", rel, [column.name for column in sequence.columns])
    inside = binder.new_rel()
    oid, *shown = (Column(inside, index, column.type, column.name) for index, column in enumerate(states))
    test = operators.apply_operator(binder, "=", oid, Constant(sequence.oid, OID))
    source = SystemScan(inside, f"pg_catalog.{SEQUENCE_STATES}()", states)
    query = Select(states[1:], tuple(shown), source, test)
    columns = tuple(replace(c, table_oid=sequence.oid, number=n) for n, c in enumerate(states[1:], 1))
    return build_source(binder, rel, Derived(rel, query), columns, sequence.name, alias, sequence.schema)


@use_style()
def _bind_view(binder: Binder, rel: int, view: View, alias: Any) -> Source:
    binder.accesses.add_relation(view, "r", rel, [column.name for column in view.columns])
    with binder.bind_stored(view.query, view.schema), binder.accesses.below(view):
        query = binder.bind_query(parse(view.query)[0].node, None)
    if view.security_barrier:
        query = build_barrier(query)
    columns = tuple(
        OutputColumn(declared.name, column.type, view.oid, number)
        for number, (declared, column) in enumerate(zip(view.columns, query.columns, strict=True), 1)
    )
    return build_source(binder, rel, Derived(rel, query), columns, view.name, alias, view.schema, get_row_type(view))


def list_view_accesses(binder: Binder, view: View) -> list[RelationAccess]:
    """Returns the relations that a view reads, with the roles that read them, in the order of its text."""
    _bind_view(binder, binder.new_rel(), view, None)
    return binder.accesses.relations[1:]


def _bind_subquery(binder: Binder, scope: Scope, node: Any) -> Source:
    # Without LATERAL a subquery sees WITH queries and outer levels, never its siblings
    outer = scope
    if not node.lateral:
        beside = frozenset(item.alias for item in scope.items)
        outer = Scope(parent=scope.parent, ctes=scope.ctes, entries=scope.entries, lateral_aliases=beside)
    rel = binder.new_rel()
    query = binder.bind_query(inner(node.subquery), outer)
    columns = tuple(replace(column, table_oid=0, number=0) for column in query.columns)
    alias = node.alias if node.HasField("alias") else None
    return build_source(binder, rel, Derived(rel, query, node.lateral), columns, "", alias)


def _bind_range_function(binder: Binder, scope: Scope, node: Any) -> Source:
    query = expand_table_expression(binder, scope, node)
    return bind_function(binder, scope, node) if query is None else _bind_subquery(binder, scope, query)


def _bind_join(binder: Binder, scope: Scope, node: Any) -> Source:
    left = bind_source(binder, scope, node.larg)
    # The right side may be LATERAL to the left one
    inside = Scope(parent=scope.parent, ctes=scope.ctes, clause=scope.clause, entries=scope.entries)
    inside.items, inside.columns = [*scope.items, *left.items], [*scope.columns, *left.columns]
    inside.rels = scope.rels | left.rels
    join_kind = _KINDS[node.jointype]
    inside.unreachable = scope.unreachable
    if join_kind in {"RIGHT", "FULL"}:
        inside.unreachable |= frozenset(item.alias for item in left.items)
    right = bind_source(binder, inside, node.rarg)
    columns: Columns
    level = Scope(parent=scope.parent, ctes=scope.ctes, clause="JOIN", entries=scope.entries)
    level.add(left.items, left.columns)
    level.add(right.items, right.columns)
    if (asof := read_asof_join(node)) is not None:
        return bind_asof_join(binder, level, asof, join_kind, left, right)
    on: Expr | None = None
    if node.is_natural or len(node.using_clause):
        shared = strings(node.using_clause)
        if node.is_natural:
            names = {name for name, _ in right.columns}
            shared = tuple(name for name, _ in left.columns if name in names)
        on, columns = bind_using(binder, join_kind, left, right, shared)
    else:
        columns = left.columns + right.columns
        if present(node.quals):
            level.rels = set(left.rels | right.rels)
            on = coerce_condition(binder, bind_expression(binder, level, node.quals), "JOIN/ON")
    if on is None:
        join_kind = "CROSS"
    relation = Join(join_kind, left.relation, right.relation, on)  # type: ignore[arg-type]
    rels = left.rels | right.rels
    items = mark_nullable(left.items, join_kind in {"RIGHT", "FULL"}) + mark_nullable(
        right.items, join_kind in {"LEFT", "FULL"}
    )
    if node.HasField("join_using_alias"):
        items += (NamespaceItem(node.join_using_alias.aliasname, columns[: len(node.using_clause)]),)
    if node.HasField("alias"):
        source = _apply_alias(columns, node.alias)
        return Source(relation, (NamespaceItem(node.alias.aliasname, source),), source, rels)
    return Source(relation, items, columns, rels)


def _apply_alias(columns: Columns, alias: Any) -> Columns:
    aliases = strings(alias.colnames)
    if len(aliases) > len(columns):
        shown = f'join expression "{alias.aliasname}" has {len(columns)} columns available'
        raise SqlError.of("invalid_column_reference", f"{shown} but {len(aliases)} columns specified", position=0)
    names = [*aliases, *(name for name, _ in columns[len(aliases) :])]
    return tuple((name, expr) for name, (_, expr) in zip(names, columns, strict=False))


_BINDERS.update(
    range_var=_bind_relation,
    range_subselect=_bind_subquery,
    range_function=_bind_range_function,
    range_table_sample=lambda binder, scope, node: (bind_past_table if is_past(node) else bind_sample)(
        binder, scope, node
    ),
)
