"""CREATE TABLE (LIKE table [INCLUDING …]): copies the columns of another table, and its constraints on request."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.tables import Check, Column, Exclude, Index, Table, Unique
from gpudb.errors import UndefinedTable
from gpudb.session.context import Context
from gpudb.session.ddl.constraints.constraints import Definition
from gpudb.session.objects.constraints import allocate_oid, index_names_in, list_key_names
from gpudb.session.objects.names import free_name, join_names, range_text, resolve_range
from gpudb.sql.parse.parser import inner, kind

# PostgreSQL's CREATE_TABLE_LIKE_* bits.
_COMMENTS, _CONSTRAINTS, _DEFAULTS, _GENERATED, _IDENTITY, _INDEXES = 1 << 0, 1 << 2, 1 << 3, 1 << 4, 1 << 5, 1 << 6


def copy_elements(context: Context, node: Any) -> tuple[list[Column], list[Definition]]:
    """The columns and constraints of a TableLikeClause message; 42P01."""
    relation = resolve_range(context, node.relation)
    if relation is None:
        raise UndefinedTable(f'relation "{range_text(node.relation)}" does not exist')
    columns = [
        Column(
            column.name,
            column.type,
            column.not_null,
            column.default if node.options & (_IDENTITY if column.identity else _DEFAULTS) else None,
            comment=column.comment if node.options & _COMMENTS else None,
            identity=column.identity if node.options & _IDENTITY else "",
            generated=column.generated if node.options & _GENERATED else None,
        )
        for column in relation.columns
    ]
    if not isinstance(relation, Table):
        return columns, []
    constraints: list[Definition] = []
    if node.options & _CONSTRAINTS:
        constraints += [(_check_node(each), None) for each in relation.constraints if isinstance(each, Check)]
    if node.options & _INDEXES:
        if relation.primary_key:
            deferral = relation.primary_key_deferrable, relation.primary_key_deferred
            constraints.append((_key_node(pg.CONSTR_PRIMARY, relation.primary_key, deferral), None))
        for each in relation.constraints:
            if isinstance(each, Unique) and not each.index:
                deferral = each.deferrable, each.deferred
                node_ = _key_node(pg.CONSTR_UNIQUE, each.columns, deferral, distinct=each.nulls_distinct)
                constraints.append((node_, None))
    return columns, constraints


def copy_indexes(context: Context, table: Table, elements: Any) -> Table:
    """The table that is being created, with copies of indexes for LIKE … INCLUDING INDEXES."""
    for node in (inner(each) for each in elements if kind(each) == "table_like_clause"):
        relation = resolve_range(context, node.relation)
        if isinstance(relation, Table) and node.options & _INDEXES:
            for each in relation.constraints:
                if isinstance(each, Index | Exclude) or (isinstance(each, Unique) and each.index):
                    taken = index_names_in(context.transaction.catalog, table)
                    index = replace(
                        each,
                        oid=allocate_oid(context),
                        name=free_name(
                            taken,
                            table.name,
                            join_names(list_key_names(each)),
                            "excl" if isinstance(each, Exclude) else "idx",
                        ),
                        comment=each.comment if node.options & _COMMENTS else None,
                    )
                    table = replace(table, constraints=(*table.constraints, index))
    return table


def _check_node(check: Check) -> Any:
    return pg.Constraint(contype=pg.CONSTR_CHECK, conname=check.name, cooked_expr=check.expression, is_enforced=True)


def _key_node(what: Any, columns: tuple[str, ...], deferral: tuple[bool, bool], *, distinct: bool = True) -> Any:
    deferrable, deferred = deferral
    node = pg.Constraint(contype=what, nulls_not_distinct=not distinct, deferrable=deferrable, initdeferred=deferred)
    for name in columns:
        node.keys.add().string.sval = name
    return node
