"""Exact constants equal those that the embedded engine computes."""

from __future__ import annotations

from typing import Any

import pytest

from gpudb.engine.gpu.planning.constants import fetch_values, make_evaluator
from gpudb.engine.gpu.planning.exact import evaluate_exact
from gpudb.engine.protocol import Request
from gpudb.session.database import Database
from gpudb.sql import bound

COMPUTED = (
    "date '1998-12-01' - interval '90 days'",
    "date '2020-03-31' - interval '1 month'",
    "date '2000-02-29' + interval '1 year 3 days 5 hours'",
    "timestamp '2020-01-31 10:00' + interval '1 month -1 day 00:00:01.5'",
    "timestamp '2020-01-31 10:00' - interval '25 months'",
    "date '2020-01-05' + 3",
    "date '2020-01-05' - 400",
    "0.06 - 0.01",
    "1.50 * 2.25",
    "0.1::numeric + 1",
    "1 + 2 * 3",
    "2::int8 * 3::int8 - 9::int8",
    "12::numeric",
    "12::numeric(10, 2)",
)
ASKED = (
    "date '9999-12-31' + interval '1 day'",
    "date '0001-01-01' - interval '1 year'",
    "date '12000-01-01' + interval '1 day'",
    "date 'infinity' + interval '1 day'",
    "2147483647 + 1",
    "9223372036854775807 + 1::int8",
    "123::numeric(2, 0)",
    "12345678901234567890123456789.5 * 12345678901234567890.5",
    "null::int4 + 1",
    "7 / 2",
)


class _Noting:
    """The embedded engine; records requests instead of running them."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self.requests: list[Request] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)

    def run(self, request: Request) -> Any:
        """Records a request, and raises."""
        self.requests.append(request)
        raise _Noted


class _Noted(Exception):
    pass


@pytest.fixture(scope="module")
def database() -> Any:
    made = Database(None)
    yield made
    made.close()


@pytest.mark.parametrize("text", COMPUTED + ASKED)
def test_what_is_computed_is_what_the_engine_computes(text: str, database: Any) -> None:
    noting = _Noting(database.cpu)
    database.engine = noting
    session = database.session("gpudb")
    try:
        with pytest.raises(_Noted):
            list(session.run(f"SELECT {text}"))
    finally:
        session.close()
        database.engine = database.cpu
    (request,) = noting.requests
    assert isinstance(request.query, bound.Select)
    (expr,) = request.query.targets
    found = evaluate_exact(expr)
    if text in ASKED:
        assert found is None
        return
    (expected,) = fetch_values(database.cpu, request, (expr,))
    assert found == expected
    assert str(found.value) == str(expected.value)
    assert make_evaluator(noting, request)((expr,)) == [expected]
