"""The rows that a child process works on: batches from its parent, or files in memory that workers wrote."""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from gpudb.processes.serving import ask


@dataclass(frozen=True, slots=True)
class MappedRows:
    """Rows in a file of this host's memory: where each column starts, and its type. None is NULL."""

    path: str
    rows: int
    starts: tuple[int, ...]
    types: tuple[pa.DataType, ...]


def read_rows() -> pa.Table:
    """Returns the rows that the parent answers to "rows", batches or MappedRows, until it answers None."""
    batches: list[pa.RecordBatch] = []
    while (batch := ask("rows")) is not None:
        batches.append(_map_rows(batch) if isinstance(batch, MappedRows) else batch)
    return pa.Table.from_batches(batches)


def _map_rows(given: MappedRows) -> pa.RecordBatch:
    """Returns rows whose numbers are those of the file, which may go afterwards."""
    names = [f"c{number}" for number in range(1, len(given.types) + 1)]
    if not given.rows:
        return pa.RecordBatch.from_arrays([pa.nulls(0, each) for each in given.types], names)
    descriptor = os.open(given.path, os.O_RDONLY)
    try:
        memory = pa.py_buffer(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ))
    finally:
        os.close(descriptor)
    columns = zip(given.starts, given.types, strict=True)
    return pa.RecordBatch.from_arrays([_read_column(memory, given.rows, *each) for each in columns], names)


def _read_column(memory: pa.Buffer, rows: int, start: int, kind: pa.DataType) -> pa.Array:
    if pa.types.is_boolean(kind):
        return pa.array(np.frombuffer(memory, np.bool_, rows, start))
    return pa.Array.from_buffers(kind, rows, [None, memory.slice(start, rows * kind.bit_width // 8)])
