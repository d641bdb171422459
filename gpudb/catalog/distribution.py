"""How a table's rows are spread: which types hash to buckets, alike with which, and which worker has a bucket.

A table DISTRIBUTE BY HASH is an Iceberg table partitioned by `bucket[BUCKETS]` of its column: a file holds rows of one
bucket alone. Of N workers, worker i has the buckets b with b mod N = i, and 0 the rows whose column is NULL.
"""

from __future__ import annotations

from gpudb.types import SqlType

BUCKETS = 32
"""Of every table: tables of one number of buckets, hashed by types of one class, lie alike."""
NULLS = -1
"""The bucket of a file whose rows have NULL in the column."""

_CLASSES = {"int2": "integer", "int4": "integer", "int8": "integer", "varchar": "text", "text": "text"}
_OTHERS = frozenset({"date", "time", "timestamp", "timestamptz", "uuid"})


def hash_class(kind: SqlType) -> str | None:
    """The class of types of which equal values hash alike; None for a type that tables are not distributed by."""
    if kind.user is not None or kind.carried or kind.element is not None:
        return None
    if kind.name == "numeric":
        return f"numeric {kind.numeric_digits[1]}"
    return _CLASSES.get(kind.name) or (kind.name if kind.name in _OTHERS else None)


def worker_of(bucket: int, workers: int) -> int:
    """Which of so many workers has a bucket."""
    return max(bucket, 0) % workers
