"""Queries that find a row which does not meet a condition, before it is written or changed."""

from __future__ import annotations

from collections.abc import Sequence

from gpudb.sql.bind.expressions.operators import disjunction
from gpudb.sql.bound import (
    ROW_NUMBER,
    Case,
    Column,
    Constant,
    Expr,
    From,
    OutputColumn,
    RowCheck,
    Select,
    SortKey,
    Test,
)
from gpudb.types import INT4, INT8


def build_row_check(
    source: From, number: Column, tests: Sequence[Expr], errors: tuple[tuple[str, str], ...]
) -> RowCheck:
    """Returns the check that each row of `source`, which has its `number`, meets all conditions; NULL does not."""
    failed: tuple[Expr, ...] = tuple(Test(test, "TRUE", True) for test in tests)
    which = Case(tuple((test, Constant(n, INT4)) for n, test in enumerate(failed)), Constant(None, INT4), INT4)
    query = Select(
        (OutputColumn(ROW_NUMBER, INT8), OutputColumn("check", INT4)),
        (number, which),
        source,
        disjunction(failed),
        order_by=(SortKey(number, False, False),),
        limit=Constant(1, INT8),
    )
    return RowCheck(query, errors)
