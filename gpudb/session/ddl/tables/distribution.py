"""DISTRIBUTE BY in CREATE TABLE, and in ALTER TABLE, which moves rows to their buckets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gpudb.catalog.tables import Column, Distribution, Table
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.session.context import Context
from gpudb.session.ddl.query_columns import rewrite_query
from gpudb.session.execution.queries.queries import run_query
from gpudb.session.objects.relations import put_relation
from gpudb.sql.parse.distribute_by import TABLESPACE
from gpudb.sql.parse.parser import RawStatement
from gpudb.storage.iceberg.buckets import check_hashable


def declared_distribution(statement: RawStatement, columns: Sequence[Column]) -> Distribution | None:
    """The distribution that a statement's DISTRIBUTE BY declares for a table of these columns.

    42703 for an unknown column, 42601 for HASH without one, 0A000 for several columns or a type without a hash.
    """
    clause = statement.distribution
    if clause is None:
        return None
    named = {column.name: column for column in columns}
    for name in clause.columns:
        if name not in named:
            raise SqlError.of("undefined_column", f'column "{name}" named in DISTRIBUTE BY does not exist')
    if clause.kind != "hash":
        if clause.columns:
            raise SqlError.of("syntax_error", f"DISTRIBUTE BY {clause.kind.upper()} takes no column")
        return Distribution(clause.kind)
    if not clause.columns:
        raise SqlError.of("syntax_error", "DISTRIBUTE BY HASH needs a column")
    if clause.columns[1:]:
        raise FeatureNotSupported("DISTRIBUTE BY HASH of more than one column is not supported")
    check_hashable(named[clause.columns[0]].type, clause.columns[0])
    return Distribution("hash", clause.columns)


def alter_distribution(context: Context, table: Table, step: Any) -> None:
    """ALTER TABLE … DISTRIBUTE BY …, which the parse tree represents as SET TABLESPACE."""
    clause = context.statement.distribution
    if clause is None or not clause.alters or step.name != TABLESPACE:
        raise FeatureNotSupported("ALTER TABLE action SetTableSpace is not supported")
    altered = replace(table, distribution=declared_distribution(context.statement, table.columns))
    put_relation(context, altered)
    if not table.files or (altered.hashed_by is None and table.hashed_by is None):
        return
    # A file has rows of one bucket, or of none: all files are rewritten.
    stream = run_query(context, rewrite_query(table, table.columns, {}))
    try:
        context.transaction.replace(table.oid, table.files, iter(stream), check_keys=False)
    finally:
        stream.close()


def check_not_distributed_by(table: Table, column: str) -> None:
    """0A000 for dropping the distribution column of a table."""
    if table.hashed_by is not None and table.hashed_by.name == column:
        message = f'column "{column}", by which table "{table.name}" is distributed, cannot be dropped'
        raise FeatureNotSupported(message, hint="Distribute the table otherwise first.")
