"""A result's rows as Arrow batches of the types that the query declares, and as the bytes that workers send."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import polars as pl
import pyarrow as pa

from gpudb.engine.gpu.lower.arrow import column
from gpudb.types import SqlType


@lru_cache(1024)
def schema_of(types: tuple[SqlType, ...]) -> pa.Schema:
    """The schema of a result's batches, its columns c1, c2, …"""
    return pa.schema([pa.field(f"c{number}", kind.arrow) for number, kind in enumerate(types, 1)])


def to_batch(frame: pl.DataFrame, types: Sequence[SqlType]) -> pa.RecordBatch:
    """The lanes c0, c1, … of a frame as columns of `SqlType.arrow`."""
    arrays = [column(frame, f"c{number}", kind) for number, kind in enumerate(types)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema_of(tuple(types)))


def packed(batch: pa.RecordBatch) -> bytes:
    """A batch as one message of Arrow's IPC, without its schema, which both sides know."""
    found: bytes = batch.serialize().to_pybytes()
    return found


def unpacked(data: bytes, schema: pa.Schema) -> pa.RecordBatch:
    """The batch of such a message, by its schema (see `schema_of`)."""
    return pa.ipc.read_record_batch(pa.py_buffer(data), schema)
