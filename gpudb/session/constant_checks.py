"""What a statement's constants come to is asked before it first runs, as PostgreSQL does when it plans."""

from __future__ import annotations

from collections.abc import Sequence

from gpudb.session.context import Context
from gpudb.sql.bound import Expr, OutputColumn, Select, Statement
from gpudb.sql.constants_first import check_constants
from gpudb.sql.traverse import queries


def check(context: Context, statement: Statement) -> None:
    """Raises the error of a constant expression of the statement that PostgreSQL computes beforehand."""
    from gpudb.session.execution import gathered

    def evaluate(exprs: Sequence[Expr]) -> list[object]:
        columns = tuple(OutputColumn(f"c{number}", expr.type) for number, expr in enumerate(exprs, 1))
        return [column[0].as_py() for column in gathered(context, Select(columns, tuple(exprs))).columns]

    for query in queries(statement):
        check_constants(query, evaluate)
