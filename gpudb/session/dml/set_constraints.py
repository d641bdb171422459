"""SET CONSTRAINTS, and the deferred checks at the end of a transaction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.partition_trees import list_partitions
from gpudb.catalog.tables import Exclusion, ForeignKey
from gpudb.engine.protocol import Cancel
from gpudb.errors import SqlError
from gpudb.session.context import Context, SessionState
from gpudb.session.dml.apply import check_deferred
from gpudb.session.objects.constraints import constraint_names
from gpudb.session.results import Result
from gpudb.session.state.deferral import DeferredChecks, Rule
from gpudb.sql.parse.parser import RawStatement, inner
from gpudb.storage.transaction import Transaction


def set_constraints(context: Context) -> Result:
    """SET CONSTRAINTS ALL | names DEFERRED | IMMEDIATE: runs the checks that are no longer deferred. 42704, 42809."""
    node: Any = context.statement.node
    if not context.session.transactions.explicit:
        message = "SET CONSTRAINTS can only be used in transaction blocks"
        context.notice(message, severity="WARNING", sqlstate="25P01")
        return Result("SET CONSTRAINTS")
    deferred = context.session.deferred_checks
    if not len(node.constraints):
        deferred.default = node.deferred
        deferred.by_oid.clear()
    for each in map(inner, node.constraints):
        for rule in _list_rules(context, each.schemaname, each.relname):
            deferred.by_oid[rule.oid] = node.deferred
    check_deferred(context, deferred.take_due())
    return Result("SET CONSTRAINTS")


def _list_rules(context: Context, schema: str, name: str) -> Iterator[Rule]:
    """The constraints of that name in the first schema of the path that has one, and those of partitions like them."""
    catalog = context.transaction.catalog
    for each in (schema,) if schema else context.session.search_path():
        found = [t for t in catalog.tables() if t.schema == each and name in constraint_names(t)]
        for table in found:
            rules: tuple[ForeignKey | Exclusion, ...] = (*table.foreign_keys, *table.exclusions)
            rule = next((each for each in rules if each.name == name), None)
            if rule is None or not rule.deferrable:
                raise SqlError.of("wrong_object_type", f'constraint "{name}" is not deferrable')
            yield rule
            if isinstance(rule, Exclusion):
                same = rule.requirement
                for part in list_partitions(catalog, table):
                    yield from (own for own in part.exclusions if own.requirement == same)
        if found:
            return
    raise SqlError.of("undefined_object", f'constraint "{name}" does not exist')


def run_deferred_checks(session: SessionState, transaction: Transaction) -> None:
    """Runs the deferred checks before a commit: 23503."""
    deferred, session.deferred_checks = session.deferred_checks, DeferredChecks()
    if deferred.pending:
        if not session.transactions.keeps_snapshot:
            session.transactions.advance(transaction)
        context = Context(session, RawStatement(pg.ConstraintsSetStmt(), ""), transaction, Cancel())
        check_deferred(context, deferred.pending)
