"""Evaluation of a statement's constants before it first runs, as in PostgreSQL's planner."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from gpudb.errors import NARROW_COLUMN, GpudbError
from gpudb.session.context import Context
from gpudb.session.execution.queries.queries import fetch_query
from gpudb.sql.bound import Expr, OutputColumn, Select, Statement
from gpudb.sql.constant_checks import check_constants
from gpudb.sql.traverse import iter_queries


def check_statement_constants(context: Context, statement: Statement) -> None:
    """Raises the error of a constant expression that PostgreSQL evaluates while it plans the statement."""

    def evaluate(exprs: Sequence[Expr]) -> list[object]:
        columns = tuple(OutputColumn(f"c{number}", expr.type) for number, expr in enumerate(exprs, 1))
        return [_condition_value(column[0]) for column in fetch_query(context, Select(columns, tuple(exprs))).columns]

    for query in iter_queries(statement):
        try:
            check_constants(query, evaluate)
        except GpudbError as error:
            if not (error.detail or "").startswith(NARROW_COLUMN):
                raise  # else the change itself raises it, and widens the column


def _condition_value(value: pa.Scalar) -> object:
    """A boolean or None as conditions read it; other values remain Arrow scalars: Python may not represent them."""
    return value.as_py() if not value.is_valid or pa.types.is_boolean(value.type) else value
