"""REINDEX and CLUSTER: checked as PostgreSQL checks them; no index is stored and none orders rows."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.postgres.relations import get_system_relation
from gpudb.catalog.secured_objects import get_database
from gpudb.catalog.tables import Index, Table
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedTable
from gpudb.session.authorization.membership import is_superuser
from gpudb.session.authorization.privileges import check_owner, get_current_role, is_owner, make_owner_error
from gpudb.session.context import Context
from gpudb.session.ddl.indexes.indexes import find_index
from gpudb.session.objects.names import range_text, resolve_range
from gpudb.session.ownership.objects import own_schema
from gpudb.session.results import Result
from gpudb.sql.bind.query.sources import SYSTEM_SCHEMAS
from gpudb.sql.parse.parser import inner, position, present

_CLUSTERING_METHODS = {"btree", "gist"}


def reindex(context: Context) -> Result:
    """REINDEX INDEX, TABLE, SCHEMA, DATABASE or SYSTEM [CONCURRENTLY]: there is nothing to rebuild.

    42P01 or 3F000 for what does not exist, 42809 for what has no indexes, 42501 for what another role owns.
    """
    node: Any = context.statement.node
    what = pg.ReindexObjectType.Name(node.kind).removeprefix("REINDEX_OBJECT_")
    options = _read_options(context, node.params, "REINDEX", ("verbose", "concurrently", "tablespace"))
    if "tablespace" in options:
        raise FeatureNotSupported("REINDEX … TABLESPACE is not supported")
    concurrent = options.get("concurrently", False)
    if concurrent:
        context.check_no_block("REINDEX CONCURRENTLY")
    match what:
        case "INDEX":
            _check_index(context, node.relation, concurrent=concurrent)
        case "TABLE":
            _check_indexed_table(context, node.relation, concurrent=concurrent)
        case _:
            context.check_no_block(f"REINDEX {what}")
            _check_whole(context, what, node.name, concurrent=concurrent)
    return Result("REINDEX")


def cluster(context: Context) -> Result:
    """CLUSTER [table [USING index]]: leaves the order of rows, with a NOTICE.

    Without a table it is for all tables that an index orders, of which there are none. 42704 for an index that does not
    exist or is not named, 0A000 for one that cannot order rows.
    """
    node: Any = context.statement.node
    _read_options(context, node.params, "CLUSTER", ("verbose",))
    if not node.HasField("relation"):
        context.check_no_block("CLUSTER")
        return Result("CLUSTER")
    table = _find_table(context, node.relation)
    name = node.relation.relname
    if not node.indexname:
        raise SqlError.of("undefined_object", f'there is no previously clustered index for table "{name}"')
    _check_clusterable(context, table, name, node.indexname)
    detail = "Tables are read by their files' ranges; nothing looks into an index."
    context.notice(f'rows of table "{name}" keep their order', detail=detail)
    return Result("CLUSTER")


def _read_options(context: Context, params: Any, statement: str, known: Collection[str]) -> dict[str, bool]:
    """Returns the options of a statement: whether each is on; 42601 for an unknown one."""
    found: dict[str, bool] = {}
    for option in map(inner, params):
        if option.defname not in known:
            error = SqlError.of("syntax_error", f'unrecognized {statement} option "{option.defname}"')
            raise error.at(position(context.statement.text, option.location))
        value = inner(option.arg) if present(option.arg) else None
        text = "" if value is None else str(getattr(value, "sval", "") or getattr(value, "ival", 0))
        found[option.defname] = text.lower() not in ("false", "off", "0")
    return found


def _check_index(context: Context, node: Any, *, concurrent: bool) -> None:
    names = tuple(filter(None, (node.schemaname, node.relname)))
    _check_schema(context, node)
    found = find_index(context, names)
    if found is None:
        if resolve_range(context, node) is not None or _is_system_relation(node):
            raise SqlError.of("wrong_object_type", f'"{node.relname}" is not an index')
        raise UndefinedTable(f'relation "{range_text(node)}" does not exist')
    if not is_owner(context.transaction.catalog, get_current_role(context), found[0]):
        raise make_owner_error("index", node.relname)


def _check_indexed_table(context: Context, node: Any, *, concurrent: bool) -> None:
    table = _find_table(context, node)
    if table is None and concurrent:
        raise FeatureNotSupported("cannot reindex system catalogs concurrently")
    if table is not None and not table.index_names:
        ending = "that can be reindexed concurrently" if concurrent else "to reindex"
        context.notice(f'table "{table.name}" has no indexes {ending}')


def _check_whole(context: Context, what: str, name: str, *, concurrent: bool) -> None:
    """Checks REINDEX of a schema, of the database, or of its system catalog."""
    catalog, role = context.transaction.catalog, get_current_role(context)
    if what == "SYSTEM" and concurrent:
        raise FeatureNotSupported("cannot reindex system catalogs concurrently")
    if what == "SCHEMA":
        if name in SYSTEM_SCHEMAS:
            if not is_superuser(catalog, role):
                raise make_owner_error("schema", name)
        elif name not in catalog.schemas:
            raise SqlError.of("invalid_schema_name", f'schema "{name}" does not exist')
        else:
            own_schema(context, name)
        return
    if name and name != catalog.database:
        raise FeatureNotSupported("can only reindex the currently open database")
    check_owner(catalog, role, get_database(catalog))


def _find_table(context: Context, node: Any) -> Table | None:
    """Returns the table or materialized view of a RangeVar; None for a table of the system catalog.

    42P01, 3F000, 42809, and 42501 unless the current role owns it.
    """
    catalog, role = context.transaction.catalog, get_current_role(context)
    _check_schema(context, node)
    found = resolve_range(context, node)
    if found is None and _is_system_relation(node):
        system = get_system_relation(node.schemaname or "pg_catalog", node.relname)
        if system is None or system.kind != "r":
            raise SqlError.of("wrong_object_type", f'"{node.relname}" is not a table or materialized view')
        if not is_superuser(catalog, role):
            raise make_owner_error("table", node.relname)
        return None
    names = tuple(filter(None, (node.schemaname, node.relname)))
    if found is None and find_index(context, names) is None:
        raise UndefinedTable(f'relation "{range_text(node)}" does not exist')
    if not isinstance(found, Table) or found.kind == "f":
        raise SqlError.of("wrong_object_type", f'"{node.relname}" is not a table or materialized view')
    check_owner(catalog, role, found)
    return found


def _check_schema(context: Context, node: Any) -> None:
    """3F000 for a schema that does not exist, 42501 for one that the current role may not use."""
    name = node.schemaname
    if not name or name in SYSTEM_SCHEMAS:
        return
    if name != "pg_temp" and name not in context.transaction.catalog.schemas:
        raise SqlError.of("invalid_schema_name", f'schema "{name}" does not exist')
    context.session.check_schema(name)


def _is_system_relation(node: Any) -> bool:
    return get_system_relation(node.schemaname or "pg_catalog", node.relname) is not None


def _check_clusterable(context: Context, table: Table | None, table_name: str, name: str) -> None:
    """42704 for an index that does not exist, 42809 for another table's, 0A000 for one that cannot order rows."""
    found = None if table is None else find_index(context, (table.schema, name))
    if table is None or found is None:
        raise SqlError.of("undefined_object", f'index "{name}" for table "{table_name}" does not exist')
    if found[0].oid != table.oid:
        raise SqlError.of("wrong_object_type", f'"{name}" is not an index for table "{table_name}"')
    index = next((each for each in table.constraints if isinstance(each, Index) and each.name == name), None)
    if index is None:
        return
    if index.method not in _CLUSTERING_METHODS:
        message = f'cannot cluster on index "{name}" because access method does not support clustering'
        raise FeatureNotSupported(message)
    if index.details is not None and index.details.predicate:
        raise FeatureNotSupported(f'cannot cluster on partial index "{name}"')
