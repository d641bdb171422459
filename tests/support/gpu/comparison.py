"""Comparison of workers' rows with those of the embedded engine."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from gpudb.engine.gpu.fused.runner import NumpyRunner
from gpudb.engine.protocol import Request, Settings
from gpudb.errors import GpudbError
from gpudb.plan.physical.exchange_planning import Costs
from gpudb.sql import bound
from gpudb.sql.traverse import walk
from tests.support.gpu import local_stages
from tests.support.lab import Lab

COUNTS = (1, 2, 4)

EVERY = Costs(scan=0)
"""Costs that make kernels worthwhile for tables of any size."""

TWIN = NumpyRunner(local_stages.PACKED)


def shaped(text: str | None) -> str:
    """A value's text; floats are rounded to nine digits, since workers add in another order."""
    if text is None:
        return "NULL"
    if "." in text or "e" in text:
        with contextlib.suppress(ValueError):
            return text if len(text) < 15 else f"{float(text):.9e}"
    return text


def sorted_rows(rows: list[tuple[str | None, ...]]) -> list[Any]:
    return sorted(tuple(map(shaped, row)) for row in rows)


def embedded(lab: Lab, request: Request) -> list[tuple[str | None, ...]]:
    kinds = [column.type for column in request.query.columns]
    return local_stages.as_text(lab.database.cpu.run(request), kinds)


@contextlib.contextmanager
def stopped_after(request: Request, seconds: float) -> Iterator[None]:
    """Cancels the request after `seconds`; its `cancel` records that."""
    timer = threading.Timer(seconds, request.cancel.stop)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def outcome(run: Any) -> Any:
    try:
        return sorted_rows(run())
    except GpudbError as error:
        return error.sqlstate


def selected(lab: Lab, sql: str, settings: Settings | None = None) -> Request | None:
    """Returns a statement's request if it is a SELECT over tables that the embedded engine supports."""
    if not sql.lstrip(" (").upper().startswith(("SELECT", "WITH", "VALUES", "TABLE")):
        return None
    if lab.session.transactions.current is not None:
        return None
    try:
        request = lab.request(sql.rstrip().rstrip(";"), settings=settings)
    except (GpudbError, AssertionError):
        return None
    if not isinstance(request.query, bound.Query) or not request.query.columns:
        return None
    return request if any(isinstance(node, bound.Scan) for node in walk(request.query)) else None
