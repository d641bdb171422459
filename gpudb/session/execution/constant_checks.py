"""What a statement's constants come to is asked before it first runs, as PostgreSQL does when it plans."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from gpudb.session.context import Context
from gpudb.sql.bound import Expr, OutputColumn, Select, Statement
from gpudb.sql.constant_checks import check_constants
from gpudb.sql.traverse import queries


def check(context: Context, statement: Statement) -> None:
    """Raises the error of a constant expression of the statement that PostgreSQL computes beforehand."""
    from gpudb.session.execution.execution import gathered

    def evaluate(exprs: Sequence[Expr]) -> list[object]:
        columns = tuple(OutputColumn(f"c{number}", expr.type) for number, expr in enumerate(exprs, 1))
        return [_told(column[0]) for column in gathered(context, Select(columns, tuple(exprs))).columns]

    for query in queries(statement):
        check_constants(query, evaluate)


def _told(value: pa.Scalar) -> object:
    """What conditions look at: a boolean or None; any other value stays Arrow's, for Python may have none for it."""
    return value.as_py() if not value.is_valid or pa.types.is_boolean(value.type) else value
