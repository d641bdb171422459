"""What one step of a statement may make at once: large values ask here before they are made.

DuckDB's own limit counts neither texts and lists in flight nor values of Python. A process that has no limit of its own
counts 1 GB for each value alone.
"""

from __future__ import annotations

from gpudb.errors import OutOfMemory, SqlError

MAX_VALUE_BYTES = (1 << 30) - 5
"""Most bytes of a value, as in PostgreSQL."""
_SMALL_BYTES = 1 << 20
"""A shorter text is not asked for."""
_HINT = "Raise the setting memory_limit, or make fewer or shorter values at once."


class _Share:
    """The bytes that one thread may make at once; None for no limit."""

    bytes: int | None = None


_share = _Share()


def set_limit(limit: int | None, threads: int = 1) -> None:
    """Sets the memory limit of this process in bytes, which so many threads share; None for none."""
    _share.bytes = None if limit is None else limit // max(threads, 2)


def check_value(size: int) -> None:
    """Raises 54000 for a value of more bytes than any may have."""
    if size > MAX_VALUE_BYTES:
        raise SqlError.of("program_limit_exceeded", "requested length too large")


def allot(size: int) -> None:
    """Raises 53200 if so many bytes, which are about to be made at once, exceed a thread's share of the limit."""
    share = _share.bytes
    if share is not None and size > share:
        detail = f"{size} bytes are needed at once, of {share} that a thread may use."
        raise OutOfMemory("out of memory", detail=detail, hint=_HINT)


def join_texts(first: str, second: str) -> str:
    """Returns first || second; 54000 for a text beyond 1 GB, 53200 beyond the limit."""
    size = len(first) + len(second)
    if size >= _SMALL_BYTES:
        check_value(size)
        allot(2 * size)
    return first + second


def append_item(items: list[object] | None, item: object) -> list[object]:
    """Returns a new array with an item at its end; 53200 beyond the limit."""
    held = items or []
    allot(16 * len(held))
    return [*held, item]
