"""Statements whose numerics do not fit run again in other layouts, unless the client has rows or a change is made."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import TypeVar

from gpudb.catalog.model import Catalog
from gpudb.errors import GpudbError
from gpudb.functions.carried import Layout, compute_in_layouts, layout_failure
from gpudb.session.context import Context, Handler
from gpudb.session.results import CopyOut, Result

T = TypeVar("T")
_READ_AHEAD = 16
"""Batches that are held before the first is sent."""
_MANY_ROWS = 2**16
"""Rows from which no more batches are held."""


def handle_in_layouts(
    handler: Handler, context: Context, layout: Layout, error: GpudbError, catalog: Catalog
) -> Result:
    """Runs a handler in other layouts than the one of an `error`, until one holds all values; 22003 if none does.

    An error of a statement that has changed the transaction's `catalog` is raised.
    """

    def handle() -> Result:
        # One that has changed nothing may have read the catalog again, for a lock.
        if context.transaction.changed and context.transaction.catalog is not catalog:
            raise error
        return read_ahead(handler(context))

    return compute_in_layouts(handle, layout, error)


def read_ahead(result: Result, failed: Callable[[int], None] = lambda failure: None) -> Result:
    """Reads the first batches of a result's rows, so that most results fail before a client has any row.

    `failed` is called with the failure of the layout if a later batch fails; see `layout_failure`.
    """
    try:
        if isinstance(result, CopyOut):
            result.chunks = _begin(result.chunks, failed)
        else:
            result.batches = _begin(result.batches, failed)
    except BaseException:
        result.close()
        raise
    return result


def _begin(items: Iterator[T], failed: Callable[[int], None]) -> Iterator[T]:
    """Returns an iterator over the same items, of which the first ones are there."""
    items, held, rows = iter(items), deque[T](), 0
    for item in items:
        held.append(item)
        rows += getattr(item, "num_rows", 0)
        if len(held) == _READ_AHEAD or rows >= _MANY_ROWS:
            break
    return _drain(held, items, failed)


def _drain(held: deque[T], items: Iterator[T], failed: Callable[[int], None]) -> Iterator[T]:
    """Yields the items that are held, then the others."""
    while held:
        yield held.popleft()
    try:
        yield from items
    except GpudbError as error:
        if failure := layout_failure(error):
            failed(failure)
        raise
