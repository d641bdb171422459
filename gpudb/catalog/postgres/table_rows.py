"""Rows of pg_class, pg_attribute, pg_type and others for tables and views."""

from __future__ import annotations

from gpudb.catalog.model import Catalog
from gpudb.catalog.models import CONTENT_SCHEMA
from gpudb.catalog.partition_trees import list_children
from gpudb.catalog.pinned_routines import show_names
from gpudb.catalog.postgres import oids
from gpudb.catalog.postgres.column_rows import add_column, add_hidden_columns
from gpudb.catalog.postgres.constraint_rows import add_constraints
from gpudb.catalog.postgres.partition_rows import add_partition, deparse_bound
from gpudb.catalog.postgres.policy_rows import add_policies
from gpudb.catalog.postgres.privilege_rows import show_acl
from gpudb.catalog.postgres.row_builder import SystemRows
from gpudb.catalog.postgres.sequence_rows import add_sequence
from gpudb.catalog.postgres.statistic_rows import add_statistics
from gpudb.catalog.postgres.trigger_rows import add_triggers
from gpudb.catalog.relations import Relation, Sequence, View, get_stored_query
from gpudb.catalog.tables import Table


def add_relation(
    rows: SystemRows, catalog: Catalog, relation: Relation, namespace: int, owner: int, *, triggers: bool = False
) -> None:
    """Adds the rows of one table or view, its columns, types, constraints and comments; `triggers`: it has some."""
    if isinstance(relation, Sequence):
        add_sequence(rows, relation, namespace, owner)
        return
    table = relation if isinstance(relation, Table) else None
    has_storage = table is not None and table.foreign is None and table.partitioned_by is None
    query = get_stored_query(relation)
    bound = None if table is None else table.partition_bound
    parent = None if bound is None else catalog.find_relation_by_oid(bound.parent)
    rows.add(
        "pg_class",
        oid=relation.oid,
        relname=relation.name,
        relnamespace=namespace,
        reltype=oids.row_type(relation.oid),
        relowner=owner,
        relam=oids.ICEBERG_AM if has_storage else 0,
        relfilenode=relation.oid if has_storage else 0,
        relhassubclass=relation.kind == "p" and bool(list_children(catalog).get(relation.oid)),
        relispartition=bound is not None,
        relpartbound=deparse_bound(parent, bound) if isinstance(parent, Table) and bound is not None else None,
        relhasindex=table is not None and bool(table.index_names),
        relchecks=len(table.checks) if table is not None else 0,
        relpersistence="t" if relation.schema.startswith("pg_temp_") else "p",
        relkind="t" if relation.schema == CONTENT_SCHEMA else relation.kind,
        relnatts=len(relation.columns),
        relhasrules=query is not None,
        relhastriggers=triggers,
        relrowsecurity=table is not None and table.row_security,
        relforcerowsecurity=table is not None and table.forces_row_security,
        relispopulated=table is None or table.populated,
        relreplident="d" if table is not None and table.foreign is None else "n",
        relacl=show_acl(relation.acl),
        reloptions=(list(relation.options) or None) if isinstance(relation, View) else None,
    )
    _add_types(rows, relation, namespace, owner)
    for number, column in enumerate(relation.columns, 1):
        add_column(rows, relation.oid, number, column, nullable=table is None, inherited=bound is not None)
        if column.type.user is not None or column.type.domain is not None:
            rows.depend(oids.PG_CLASS, relation.oid, number, oids.PG_TYPE, column.type.declared_oid, 0, "n")
    if table is not None:
        add_hidden_columns(rows, table.oid)
        add_statistics(rows, table)
    rows.describe(oids.PG_CLASS, relation.oid, 0, relation.comment)
    rows.depend(oids.PG_CLASS, relation.oid, 0, oids.PG_NAMESPACE, namespace, 0, "n")
    if table is not None:
        add_partition(rows, catalog, table)
        add_constraints(rows, catalog, table, namespace, owner)
        add_policies(rows, catalog, table)
    add_triggers(rows, relation)
    if query is not None:
        action, short = (f" {show_names(query, short=short)};" for short in (False, True))
        rows.add(
            "pg_rewrite", oid=oids.rule(relation.oid), rulename="_RETURN", ev_class=relation.oid, ev_type="1",
            ev_enabled="O", is_instead=True, ev_qual="<>", ev_action=rows.shorten(action, short),
        )  # fmt: skip
        rows.depend(oids.PG_REWRITE, oids.rule(relation.oid), 0, oids.PG_CLASS, relation.oid, 0, "i")


def _add_types(rows: SystemRows, relation: Relation, namespace: int, owner: int) -> None:
    row, array = oids.row_type(relation.oid), oids.array_type(relation.oid)
    shared = {"typnamespace": namespace, "typowner": owner, "typlen": -1, "typalign": "d", "typstorage": "x"}
    rows.add(
        "pg_type", oid=row, typname=relation.name, typtype="c", typcategory="C", typrelid=relation.oid, typarray=array,
        typinput="record_in", typoutput="record_out", typreceive="record_recv", typsend="record_send", **shared,
    )  # fmt: skip
    rows.add(
        "pg_type", oid=array, typname=f"_{relation.name}"[:63], typtype="b", typcategory="A", typelem=row,
        typsubscript="array_subscript_handler", typinput="array_in", typoutput="array_out",
        typreceive="array_recv", typsend="array_send", typanalyze="array_typanalyze", **shared,
    )  # fmt: skip
    rows.depend(oids.PG_TYPE, row, 0, oids.PG_CLASS, relation.oid, 0, "i")
    rows.depend(oids.PG_TYPE, array, 0, oids.PG_TYPE, row, 0, "i")
