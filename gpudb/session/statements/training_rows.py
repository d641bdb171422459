"""The rows that a model is trained on: from the memory of workers that have them, else as a stream of batches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from gpudb.analytics.received import MappedRows
from gpudb.engine.host_name import get_host_name
from gpudb.engine.protocol import SharedRows
from gpudb.errors import FeatureNotSupported
from gpudb.session.context import Context
from gpudb.session.execution.queries.queries import run_query
from gpudb.session.execution.requests.requests import share_on_engine
from gpudb.session.execution.session_calls import has_session_calls
from gpudb.sql.bound import Query
from gpudb.values.number_columns import holds_numbers

Parts = Iterator[pa.RecordBatch | MappedRows]


@contextmanager
def open_rows(context: Context, query: Query, *, nan_is_null: bool) -> Iterator[Parts]:
    """Yields the rows of a query in parts, which are valid within the context.

    `nan_is_null` is whether training makes no difference between NaN and NULL.
    """
    shared = _share(context, query, nan_is_null=nan_is_null)
    if shared is not None:
        types = tuple(each.type.arrow for each in query.columns)
        try:
            yield iter(
                [MappedRows(each.path, each.rows, tuple(c.start for c in each.columns), types) for each in shared.parts]
            )
        finally:
            shared.close()
        return
    stream = run_query(context, query)
    try:
        yield _iter_batches(iter(stream), stream.schema)
    finally:
        stream.close()


def _iter_batches(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Parts:
    """Yields batches, at least one: an empty one says what the columns are."""
    first = next(batches, None)
    yield pa.RecordBatch.from_pylist([], schema=schema) if first is None else first
    yield from batches


def _share(context: Context, query: Query, *, nan_is_null: bool) -> SharedRows | None:
    """Leaves the rows with workers of this host; None where there are none, or what they leave is not all there is."""
    engine = context.session.database.engine
    numbers = all(holds_numbers(each.type.arrow) and each.type.name != "numeric" for each in query.columns)
    if not engine.scores_trees or not numbers or has_session_calls(query):
        return None
    try:
        shared = share_on_engine(context, query)
    except FeatureNotSupported:
        return None  # the stream tells what is not supported, unless the embedded engine runs it
    own = get_host_name()
    for part in shared.parts:
        lost = any(
            column.nulls and not (nan_is_null and output.type.name == "float8")
            for output, column in zip(query.columns[:-1], part.columns[:-1], strict=True)
        )
        if lost or part.columns[-1].nulls or part.host != own:
            shared.close()
            return None
    return shared if shared.parts else None
