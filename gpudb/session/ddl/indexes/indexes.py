"""CREATE INDEX and DROP INDEX: a unique index is enforced, one of vectors is built, any other is only declared.

Scans use the ranges, row groups and Bloom filters of files, so that an index has no use. The declaration is stored
since programs that create or inspect a schema expect their indexes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.partition_trees import list_partitions
from gpudb.catalog.postgres.indexes import get_operator_class_name
from gpudb.catalog.tables import Constraint, Exclude, Index, IndexDetails, IndexKey, Table, Unique
from gpudb.catalog.vector_indexes import VECTOR_METHODS
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedTable
from gpudb.session.context import Context
from gpudb.session.cursors.open_cursors import check_not_scanned
from gpudb.session.ddl.constraints.constraints import check_key_columns
from gpudb.session.ddl.constraints.foreign_keys import release_key
from gpudb.session.ddl.constraints.key_expressions import check_default_class, list_used_columns
from gpudb.session.ddl.indexes.index_details import read_details
from gpudb.session.ddl.indexes.vector_indexes import build_vector_index, check_vector_index, remove_vector_index
from gpudb.session.ddl.partitions.partitions import check_keys_include, with_constraint
from gpudb.session.objects.constraints import allocate_oid, index_names_in, list_key_names
from gpudb.session.objects.names import (
    check_name_free,
    free_name,
    join_names,
    range_text,
    resolve_range,
    truncate_identifier,
)
from gpudb.session.objects.relations import lock_table, put_relation
from gpudb.session.results import Result
from gpudb.sql.parse.parser import inner, strings

_METHODS = {"btree", "hash", "gin", "gist", "spgist", "brin"} | VECTOR_METHODS
_DESCENDING, _NULLS_FIRST = 1, 2


def create_index(context: Context) -> Result:
    """CREATE [UNIQUE] INDEX [CONCURRENTLY] [IF NOT EXISTS] [name] ON table [USING method] (column, …)."""
    node: Any = context.statement.node
    context.check_writable("CREATE INDEX")
    relation = resolve_range(context, node.relation)
    if relation is None:
        raise UndefinedTable(f'relation "{range_text(node.relation)}" does not exist')
    if not isinstance(relation, Table) or relation.kind == "f":
        detail = f"This operation is not supported for {'views' if relation.kind == 'v' else 'foreign tables'}."
        raise SqlError.of("wrong_object_type", f'cannot create index on relation "{relation.name}"', detail=detail)
    catalog, name = context.transaction.catalog, truncate_identifier(node.idxname)
    if name in index_names_in(catalog, relation):
        if node.if_not_exists:
            context.notice(f'relation "{name}" already exists, skipping', sqlstate="42P07")
            return Result("CREATE INDEX")
        check_name_free(catalog, relation.schema, name)
    _check_options(node, relation)
    details = read_details(context, relation, node)
    columns = tuple(key.column for key in details.keys)
    named = list_key_names(Index(0, "", (), details=details))
    name = name or free_name(index_names_in(catalog, relation), relation.name, join_names(named), "idx")
    check_not_scanned(context.session, relation, "CREATE INDEX")
    lock_table(context, relation)
    relation = context.transaction.table(relation.oid)
    constraint: Constraint
    options = tuple(_option(inner(each)) for each in node.index_params)
    is_plain = details == IndexDetails(tuple(map(IndexKey, columns)))
    if node.unique:
        check_key_columns(relation, tuple(dict.fromkeys(filter(None, columns))), "unique")
        constraint = Unique(
            allocate_oid(context),
            name,
            columns,
            not node.nulls_not_distinct,
            index=True,
            details=None if is_plain else details,
            options=options if any(options) else (),
        )
        if not constraint.is_key:
            constraint = replace(constraint, columns=list_used_columns(relation, details))
    else:
        types = {column.name: column.type for column in relation.columns}
        for key in details.keys:
            if key.column and not key.operator_class:
                check_default_class(types[key.column], node.access_method or "btree")
        constraint = Index(
            allocate_oid(context),
            name,
            columns if is_plain else list_used_columns(relation, details),
            node.access_method or "btree",
            options,
            details=None if is_plain else details,
        )
        if constraint.method not in VECTOR_METHODS:
            detail = "Tables are read by their files' ranges; nothing looks into an index."
            context.notice(f'index "{name}" is kept as a declaration', detail=detail)
    changed = replace(relation, constraints=(*relation.constraints, constraint))
    check_keys_include(changed)
    put_relation(context, changed)
    for each in list_partitions(context.transaction.catalog, changed) if node.relation.inh else ():
        put_relation(context, with_constraint(context, each, constraint))
    if isinstance(constraint, Index) and constraint.method in VECTOR_METHODS:
        build_vector_index(context, changed, constraint)
    return Result("CREATE INDEX")


def _has_default_class(table: Table, element: Any) -> bool:
    """Whether the operator class of an index's column is its type's own, which says nothing."""
    column = next((each for each in table.columns if each.name == element.name), None)
    return column is not None and strings(element.opclass)[-1] == get_operator_class_name(column.type)


def _check_options(node: Any, table: Table) -> None:
    method = node.access_method or "btree"
    if method not in _METHODS:
        raise SqlError.of("undefined_object", f'access method "{method}" does not exist')
    if node.unique and method != "btree":
        raise FeatureNotSupported(f'access method "{method}" does not support unique indexes')
    if method in VECTOR_METHODS:
        check_vector_index(method, node, table)
    if node.table_space:
        raise FeatureNotSupported("an index in a tablespace is not supported")
    for each in map(inner, node.index_params):
        if len(each.opclassopts):
            raise FeatureNotSupported("an index with parameters of an operator class is not supported")
        if len(each.opclass) and node.unique and not _has_default_class(table, each):
            raise FeatureNotSupported("a unique index with an operator class is not supported")
        if len(each.collation) and strings(each.collation)[-1] not in {"C", "POSIX", "default"}:
            raise FeatureNotSupported("collations other than C are not supported")


def _option(node: Any) -> int:
    """A column's bits of pg_index.indoption."""
    descending = node.ordering == pg.SORTBY_DESC
    first = {pg.SORTBY_NULLS_FIRST: True, pg.SORTBY_NULLS_LAST: False}.get(node.nulls_ordering, descending)
    return (_DESCENDING if descending else 0) + (_NULLS_FIRST if first else 0)


def find_index(context: Context, names: tuple[str, ...]) -> tuple[Table, str] | None:
    """The table and the name of an index; None if there is none."""
    path = names[-2:-1] or context.session.search_path()
    for schema in path:
        for table in context.transaction.catalog.tables():
            if table.schema == schema and names[-1] in table.index_names:
                return table, names[-1]
    return None


def drop_index(context: Context, names: tuple[str, ...], *, missing_ok: bool, cascade: bool) -> None:
    """DROP INDEX: 42704, 42809, and 2BP01 for the index of a constraint."""
    found = find_index(context, names)
    if found is None:
        other = context.transaction.catalog.find(names[-1], names[-2:-1] or context.session.search_path())
        if other is not None:
            noun = "table" if isinstance(other, Table) else "view"
            hint = f"Use DROP {noun.upper()} to remove a {noun}."
            raise SqlError.of("wrong_object_type", f'"{names[-1]}" is not an index', hint=hint)
        if missing_ok:
            context.notice(f'index "{names[-1]}" does not exist, skipping')
            return
        raise SqlError.of("undefined_object", f'index "{names[-1]}" does not exist')
    table, name = found
    index = _find_plain_index(table, name)
    if index is None:
        on = f"constraint {name} on table {table.name}"
        message = f"cannot drop index {name} because {on} requires it"
        hint = f"You can drop {on} instead."
        raise SqlError.of("dependent_objects_still_exist", message, hint=hint)
    lock_table(context, table)
    if isinstance(index, Unique) and index.is_key:
        release_key(context, table, index.columns, name, cascade=cascade)
    newest = context.transaction.catalog.find_relation_by_oid(table.oid)
    if not isinstance(newest, Table):
        raise SqlError.of("undefined_object", f'index "{names[-1]}" does not exist')
    table = newest
    altered = replace(table, constraints=tuple(c for c in table.constraints if c.oid != index.oid))
    put_relation(context, altered)
    if isinstance(index, Index):
        remove_vector_index(context, altered, index)


def rename_index(context: Context, names: tuple[str, ...], new: str, *, missing_ok: bool) -> None:
    """ALTER INDEX … RENAME TO: renames the constraint of the index too. 42P01, 42P07."""
    found = find_index(context, names)
    if found is None:
        if missing_ok:
            context.notice(f'relation "{names[-1]}" does not exist, skipping')
            return
        raise UndefinedTable(f'relation "{".".join(names)}" does not exist')
    table, name = found
    check_name_free(context.transaction.catalog, table.schema, new)
    if table.primary_key and name == table.key_name:
        altered = replace(table, primary_key_name=new)
    else:
        altered = replace(table, constraints=tuple(_rename_if_index(each, name, new) for each in table.constraints))
    put_relation(context, altered)


def comment_on_index(context: Context, names: tuple[str, ...], text: str | None) -> None:
    """COMMENT ON INDEX of an index without a constraint; 42P01."""
    found = find_index(context, names)
    if found is None:
        raise UndefinedTable(f'relation "{".".join(names)}" does not exist')
    table, name = found
    index = _find_plain_index(table, name)
    if index is None:
        raise FeatureNotSupported("COMMENT ON the index of a constraint is not supported")
    listed = tuple(replace(each, comment=text) if each is index else each for each in table.constraints)
    put_relation(context, replace(table, constraints=listed))


def _rename_if_index(each: Constraint, name: str, new: str) -> Constraint:
    return replace(each, name=new) if each.name == name and isinstance(each, Unique | Index | Exclude) else each


def _find_plain_index(table: Table, name: str) -> Constraint | None:
    """The index of that name, unless it belongs to a constraint."""
    for each in table.constraints:
        if each.name == name and (isinstance(each, Index) or (isinstance(each, Unique) and each.index)):
            return each
    return None
