"""Encodes a result's rows as Arrow batches of the types that the query declares, and as bytes for messages."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import polars as pl
import pyarrow as pa

from gpudb.engine.gpu.lower.expressions.arrow import to_arrow
from gpudb.types import SqlType


@lru_cache(1024)
def result_schema(types: tuple[SqlType, ...]) -> pa.Schema:
    """Returns the schema of a result's batches, with columns c1, c2, …"""
    return pa.schema([pa.field(f"c{number}", kind.arrow) for number, kind in enumerate(types, 1)])


def to_batch(frame: pl.DataFrame, types: Sequence[SqlType]) -> pa.RecordBatch:
    """Converts the lanes c0, c1, … of a frame to columns of `SqlType.arrow`."""
    arrays = [to_arrow(frame, f"c{number}", kind) for number, kind in enumerate(types)]
    return pa.RecordBatch.from_arrays(arrays, schema=result_schema(tuple(types)))


def encode_batch(batch: pa.RecordBatch) -> bytes:
    """Encodes a batch as one Arrow IPC message without its schema, which both sides know."""
    found: bytes = batch.serialize().to_pybytes()
    return found


def decode_batch(data: bytes, schema: pa.Schema) -> pa.RecordBatch:
    """Decodes a batch by its schema (see `result_schema`)."""
    return pa.ipc.read_record_batch(pa.py_buffer(data), schema)
