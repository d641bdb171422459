"""Statements for the fast path, and the wait until it answers them."""

from __future__ import annotations

import time

from gpudb.engine.gpu.engine import BatchStream, ClusterEngine
from gpudb.engine.protocol import Request
from tests.support.gpu import local_stages

Rows = list[tuple[str | None, ...]]


def run(engine: ClusterEngine, request: Request) -> tuple[bool, Rows]:
    """Returns whether the fast path answered a statement, and the rows."""
    stream = engine.run(request)
    return isinstance(stream, BatchStream), local_stages.as_text(
        stream, [column.type for column in request.query.columns]
    )


def until_at_once(engine: ClusterEngine, request: Request) -> Rows:
    """Repeats a statement until the fast path answers it; a worker announces its fast-path server by a ping."""
    for _ in range(20):
        short, rows = run(engine, request)
        if short:
            return rows
        time.sleep(0.1)
    raise AssertionError("the statement always goes the usual way")


JOIN = "SELECT name, count(*), sum(f.a), avg(v) FROM f JOIN g ON f.k = g.k WHERE f.a > 2 GROUP BY name ORDER BY name"
