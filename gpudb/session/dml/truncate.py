"""TRUNCATE: tables lose all rows at once, and with CASCADE those that refer to them."""

from __future__ import annotations

from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.model import Table
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.session.context import Context, command, handles
from gpudb.session.cursors.open_cursors import check_unread
from gpudb.session.ddl.sequences import owned_sequences, restarted
from gpudb.session.dml.changes import lock_table
from gpudb.session.dml.references import referencing
from gpudb.session.results import Result
from gpudb.sql.bind.query.sources import find_relation
from gpudb.sql.parse.parser import inner


@handles("TruncateStmt")
def truncate(context: Context) -> Result:
    """TRUNCATE of one or more tables [RESTART IDENTITY] [CASCADE]."""
    node: Any = context.statement.node
    context.session.check_writable("TRUNCATE TABLE")
    binder = context.session.binder(context)
    doomed: list[Table] = []
    for each in node.relations:
        relation = find_relation(binder, inner(each).schemaname, inner(each).relname)
        if not isinstance(relation, Table) or relation.query is not None:
            raise SqlError.of("wrong_object_type", f'"{relation.name}" is not a table')
        doomed += [] if relation.oid in {table.oid for table in doomed} else [relation]
    _with_referencing(context, doomed, cascade=node.behavior == pg.DROP_CASCADE)
    for table in doomed:
        check_unread(context.session, table, "TRUNCATE")
        lock_table(context, table)
        context.transaction.truncate(table.oid)
        if node.restart_seqs:
            for sequence in owned_sequences(context, table.oid):
                restarted(context, sequence)
    return command("TRUNCATE TABLE")


def _with_referencing(context: Context, doomed: list[Table], *, cascade: bool) -> None:
    """Adds the tables that refer to those to be emptied; 0A000 for one that is not named without CASCADE."""
    for table in doomed:  # which grows meanwhile
        for owner, _ in referencing(context.transaction.catalog, table.oid):
            if owner.oid in {each.oid for each in doomed}:
                continue
            if not cascade:
                raise FeatureNotSupported(
                    "cannot truncate a table referenced in a foreign key constraint",
                    detail=f'Table "{owner.name}" references "{table.name}".',
                    hint=f'Truncate table "{owner.name}" at the same time, or use TRUNCATE ... CASCADE.',
                )
            context.notice(f'truncate cascades to table "{owner.name}"')
            doomed.append(owner)
