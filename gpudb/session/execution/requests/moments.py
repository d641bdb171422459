"""Values that the binder needs: expressions without columns that decide which snapshot a statement reads."""

from __future__ import annotations

import pyarrow as pa

from gpudb.errors import FeatureNotSupported
from gpudb.session.context import Context
from gpudb.session.execution.requests.requests import fetch_from_engine
from gpudb.session.execution.session_calls import has_session_calls
from gpudb.sql.bound import Expr, OutputColumn, Select


def evaluate_integer(context: Context, expr: Expr) -> int | None:
    """Returns the value of a timestamptz, in microseconds since 1970 UTC, or of a bigint; None for NULL."""
    if has_session_calls(expr):
        raise FeatureNotSupported("a function that draws values or changes data is not supported in AS OF")
    rows = fetch_from_engine(context, Select((OutputColumn("k1", expr.type),), (expr,)))
    value: int | None = rows.column(0).cast(pa.int64())[0].as_py()
    return value
