"""Evaluates constant expressions to constants of a plan: by `exact`, and the rest by the embedded engine."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal, localcontext
from typing import Any

import pyarrow as pa

from gpudb.engine.gpu.lower.values import is_keyed, literal_value
from gpudb.engine.gpu.planning.exact import evaluate_exact
from gpudb.engine.protocol import Engine, Request
from gpudb.errors import GpudbError
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.plan.optimize.fold_constants import Evaluate
from gpudb.sql import bound
from gpudb.types import SqlType
from gpudb.values.calendar import DAY
from gpudb.values.interval import Interval

_HOSTED = {"inet", "cidr", "money", "timetz", "jsonpath"}
"""Types whose constants have another form in a query than in a column: expressions of them are not folded."""


def make_evaluator(engine: Engine, request: Request) -> Evaluate:
    """Returns an evaluator of constant expressions under a request's settings and parameters."""

    def evaluate(exprs: Sequence[bound.Expr]) -> list[bound.Constant | None]:
        found = [evaluate_exact(expr) for expr in exprs]
        asked = iter(
            _evaluate_on_engine(
                engine, request, [expr for expr, each in zip(exprs, found, strict=True) if each is None]
            )
        )
        return [next(asked) if each is None else each for each in found]

    return evaluate


def _evaluate_on_engine(engine: Engine, request: Request, exprs: Sequence[bound.Expr]) -> list[bound.Constant | None]:
    if not exprs:
        return []
    try:
        return fetch_values(engine, request, exprs)
    except GpudbError:
        if len(exprs) == 1:
            return [None]
    return [_evaluate_on_engine(engine, request, [expr])[0] for expr in exprs]


def fetch_values(engine: Engine, request: Request, exprs: Sequence[bound.Expr]) -> list[bound.Constant | None]:
    """Evaluates expressions without columns on an engine; None for a value that no constant holds."""
    columns = tuple(bound.OutputColumn(f"c{number}", expr.type) for number, expr in enumerate(exprs))
    stream = engine.run(replace(request, query=bound.Select(columns, tuple(exprs))))
    (batch,) = list(stream)
    return [_constant(column, expr.type) for column, expr in zip(batch.columns, exprs, strict=True)]


def _constant(column: pa.Array, kind: SqlType) -> bound.Constant | None:
    try:
        literal_value(None, kind)
        if kind.name in _HOSTED or is_keyed(kind):
            return None
        if kind.name == "time" and column[0].value == DAY:
            return None  # Python's times end before 24:00
        value: Any = column[0].as_py()
    except (NotSupportedOnWorkers, OverflowError):
        # Python's dates end with the year 9999.
        return None
    if kind.is_carried and value is not None:
        if value["v"] is None:
            return bound.Constant(None, kind)
        with localcontext(prec=80):
            return bound.Constant(Decimal(value["v"]).quantize(Decimal(1).scaleb(-value["s"])), kind)
    if kind.name == "interval" and value is not None:
        return bound.Constant(Interval(value.months, value.days, value.nanoseconds // 1000), kind)
    if kind.name == "vector" and value is not None:
        return bound.Constant(tuple(value), kind)
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return bound.Constant(value.astimezone(dt.UTC), kind)
    return bound.Constant(value, kind)
