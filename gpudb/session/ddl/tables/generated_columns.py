"""Stored generated columns: checks at definition and in ALTER TABLE."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.tables import Column, Table
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.session.context import Context
from gpudb.sql.bind.dml import checks
from gpudb.sql.bind.dml.generated_columns import check_generated, columns_read
from gpudb.sql.parse.parser import inner, kind


def define_generated_columns(
    context: Context, table: str, columns: Sequence[Column], elements: Iterable[Any]
) -> tuple[Column, ...]:
    """The columns of a table with the generation expressions of the new ones checked; 42P17, 42601, 0A000."""
    by_name = {column.name: column for column in columns}
    for each in elements:
        if kind(each) != "column_def":
            continue
        node = inner(each)
        column = by_name[node.colname]
        for constraint in (inner(part) for part in node.constraints):
            if constraint.contype != pg.CONSTR_GENERATED:
                continue
            binder = context.binder()
            if constraint.generated_kind != "s":
                # PostgreSQL 18 has virtual ones, and takes a column without a word for one
                error = FeatureNotSupported("virtual generated columns are not supported", hint="Say STORED.")
                raise binder.locate(error, constraint.location)
            if column.default is not None:
                message = (
                    f'both default and generation expression specified for column "{column.name}" of table "{table}"'
                )
                raise binder.locate(SqlError.of("syntax_error", message), constraint.location)
            text = check_generated(binder, constraint.raw_expr, column, columns, table)
            by_name[column.name] = replace(column, generated=text)
    return tuple(by_name.values())


def columns_generated_from(table: Table, name: str) -> list[Column]:
    """The generated columns of a table that read one of its columns."""
    return [
        c for c in table.columns if c.generated is not None and c.name != name and name in columns_read(c.generated)
    ]


def rename_in_expressions(columns: Iterable[Column], old: str, new: str) -> tuple[Column, ...]:
    """Columns whose generation expressions use a column's new name."""
    return tuple(
        c if c.generated is None else replace(c, generated=checks.rename_column(c.generated, old, new)) for c in columns
    )


def check_type_change(table: Table, column: Column) -> None:
    """0A000 for a new type of a column that a generated column reads."""
    users = columns_generated_from(table, column.name)
    if users:
        detail = f'Column "{column.name}" is used by generated column "{users[0].name}".'
        raise FeatureNotSupported("cannot alter type of a column used by a generated column", detail=detail)


def check_default(table: Table, column: Column) -> None:
    """42601 for a default of an identity column or a generated column."""
    where = f'column "{column.name}" of relation "{table.name}"'
    if column.identity:
        hint = "Use ALTER TABLE ... ALTER COLUMN ... DROP IDENTITY instead."
        raise SqlError.of("syntax_error", f"{where} is an identity column", hint=hint)
    if column.generated is not None:
        hint = "Use ALTER TABLE ... ALTER COLUMN ... DROP EXPRESSION instead."
        raise SqlError.of("syntax_error", f"{where} is a generated column", hint=hint)


def drop_expression(context: Context, table: Table, column: Column, *, missing_ok: bool) -> Column:
    """ALTER COLUMN … DROP EXPRESSION [IF EXISTS]: keeps the values."""
    if column.generated is None:
        message = f'column "{column.name}" of relation "{table.name}" is not a stored generated column'
        if not missing_ok:
            raise SqlError.of("object_not_in_prerequisite_state", message)
        context.notice(f"{message}, skipping")
    return replace(column, generated=None)
