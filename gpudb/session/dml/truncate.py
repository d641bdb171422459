"""TRUNCATE: removes all rows of tables, and with CASCADE of the tables that reference them."""

from __future__ import annotations

from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.partition_trees import list_ancestors
from gpudb.catalog.tables import Table
from gpudb.catalog.triggers import AFTER, BEFORE, TRUNCATE
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.session.authorization.privileges import check_owner, check_privilege, get_current_role
from gpudb.session.context import Context
from gpudb.session.cursors.open_cursors import check_not_scanned
from gpudb.session.objects.constraints import referencing_keys
from gpudb.session.objects.relations import lock_table
from gpudb.session.objects.sequences import owned_sequences, restart_sequence
from gpudb.session.results import Result
from gpudb.session.triggers.firing import fire_for_statement
from gpudb.sql.bind.query.sources import find_relation
from gpudb.sql.parse.parser import inner


def truncate(context: Context) -> Result:
    """TRUNCATE of one or more tables [RESTART IDENTITY] [CASCADE]."""
    node: Any = context.statement.node
    context.check_writable("TRUNCATE TABLE")
    binder = context.binder()
    tables: list[Table] = []
    for each in node.relations:
        relation = find_relation(binder, inner(each).schemaname, inner(each).relname)
        if not isinstance(relation, Table) or relation.query is not None:
            raise SqlError.of("wrong_object_type", f'"{relation.name}" is not a table')
        if relation.is_elsewhere:
            raise FeatureNotSupported(f'cannot truncate foreign table "{relation.name}"')
        if relation.partitioned_by is not None and not inner(each).inh:
            hint = "Do not specify the ONLY keyword, or use TRUNCATE ONLY on the partitions directly."
            raise SqlError.of("wrong_object_type", "cannot truncate only a partitioned table", hint=hint)
        tables += [] if relation.oid in {table.oid for table in tables} else [relation]
    _add_referencing(context, tables, cascade=node.behavior == pg.DROP_CASCADE)
    for table in tables:
        check_not_scanned(context.session, table, "TRUNCATE")
        lock_table(context, table, writers=True)
    for table in tables:
        fire_for_statement(context, table, TRUNCATE, BEFORE)
    for table in tables:
        context.transaction.truncate(table.oid)
        if node.restart_seqs:
            for sequence in owned_sequences(context, table.oid):
                check_owner(context.transaction.catalog, get_current_role(context), sequence)
                restart_sequence(context, sequence)
    for table in tables:
        fire_for_statement(context, table, TRUNCATE, AFTER)
    return Result("TRUNCATE TABLE")


def _add_referencing(context: Context, tables: list[Table], *, cascade: bool) -> None:
    """Adds the tables that reference those to truncate; 0A000 without CASCADE for one that is not listed."""
    for table in tables:  # the loop extends the list
        catalog = context.transaction.catalog
        above = list_ancestors(catalog, table)
        for owner, _ in (key for each in (table, *above) for key in referencing_keys(catalog, each.oid)):
            if owner.oid in {each.oid for each in tables}:
                continue
            if not cascade:
                raise FeatureNotSupported(
                    "cannot truncate a table referenced in a foreign key constraint",
                    detail=f'Table "{owner.name}" references "{table.name}".',
                    hint=f'Truncate table "{owner.name}" at the same time, or use TRUNCATE ... CASCADE.',
                )
            context.notice(f'truncate cascades to table "{owner.name}"')
            check_privilege(context.transaction.catalog, get_current_role(context), owner, "D")
            tables.append(owner)
