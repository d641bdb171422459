"""Statements whose numerics do not fit run again in other layouts, unless the client has rows or a change is made."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import TypeVar

from gpudb.catalog.model import Catalog
from gpudb.errors import GpudbError
from gpudb.functions.carried import Layout, compute_in_layouts
from gpudb.session.context import Context, Handler
from gpudb.session.results import CopyOut, Result

T = TypeVar("T")
_READ_AHEAD = 16
"""Batches that are held before the first is sent."""


def handle_in_layouts(
    handler: Handler, context: Context, layout: Layout, error: GpudbError, catalog: Catalog
) -> Result:
    """Runs a handler in other layouts than the one of an `error`, until one holds all values; 22003 if none does.

    An error of a statement that has changed the transaction's `catalog` is raised.
    """

    def handle() -> Result:
        if context.transaction.catalog is not catalog:
            raise error
        return read_ahead(handler(context))

    return compute_in_layouts(handle, layout, error)


def read_ahead(result: Result) -> Result:
    """Reads the first batches of a result's rows, so that most results fail before a client has any row."""
    try:
        if isinstance(result, CopyOut):
            result.chunks = _begin(result.chunks)
        else:
            result.batches = _begin(result.batches)
    except BaseException:
        result.close()
        raise
    return result


def _begin(items: Iterator[T]) -> Iterator[T]:
    """Returns an iterator over the same items, of which the first ones are there."""
    return chain(list(islice(items, _READ_AHEAD)), items)
