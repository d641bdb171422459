"""Distribution of a table's rows: hashable types, their classes, and the worker of each bucket.

A table DISTRIBUTE BY HASH is an Iceberg table partitioned by `bucket[BUCKETS]` of its column: each file contains rows
of one bucket. Of N workers, worker i owns the buckets b with b mod N = i, and worker 0 the rows whose column is NULL.
"""

from __future__ import annotations

from gpudb.types import SqlType
from gpudb.types.facts import INTEGERS

BUCKETS = 32
"""Number of buckets of every table: tables hashed by types of one class are co-located."""
NULLS = -1
"""Bucket of a file whose rows have NULL in the column."""

_CLASSES = {**dict.fromkeys(INTEGERS, "integer"), "varchar": "text", "text": "text"}
_OTHERS = frozenset({"date", "time", "timestamp", "timestamptz", "uuid"})


def get_hash_class(kind: SqlType) -> str | None:
    """Returns the class of types whose equal values have equal hashes; None for a type that cannot distribute a
    table.
    """
    if kind.user is not None or kind.is_carried or kind.element is not None:
        return None
    if kind.name == "numeric":
        return f"numeric {kind.numeric_digits[1]}"
    return _CLASSES.get(kind.name) or (kind.name if kind.name in _OTHERS else None)


def get_bucket_worker(bucket: int, workers: int) -> int:
    """Returns the number of the worker, out of `workers`, that owns a bucket."""
    return max(bucket, 0) % workers
