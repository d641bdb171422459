"""Bound queries over rows that the session holds as Arrow tables, beside what the transaction sees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa

from gpudb.catalog.model import Catalog
from gpudb.engine.protocol import Request
from gpudb.session.context import Context
from gpudb.sql.bound import Query


def request_over(
    context: Context, query: Query, frames: Mapping[str, pa.Table], snapshot: Catalog | None = None
) -> Request:
    """A request whose query reads `frames` by their names, over another snapshot than the transaction's if need be."""
    request = context.request(query)
    if frames:
        settings = replace(request.settings, frames={**request.settings.frames, **frames})
        request = replace(request, settings=settings)
    return request if snapshot is None else replace(request, snapshot=snapshot)


def rows_over(
    context: Context, query: Query, frames: Mapping[str, pa.Table], snapshot: Catalog | None = None
) -> pa.Table:
    """All rows of a query over frames, as columns c1, c2, …"""
    stream = context.session.engine(query).run(request_over(context, query, frames, snapshot))
    try:
        return pa.Table.from_batches(list(stream), schema=stream.schema)
    finally:
        stream.close()
