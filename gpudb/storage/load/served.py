"""What the processes of loads run: they decompress files, read blocks into columns, and write columns into files."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from pickle import PickleBuffer
from typing import Any

import pyarrow as pa

from gpudb.catalog.tables import DataFile
from gpudb.processes.serving import ask
from gpudb.storage.copy.errors import RowError
from gpudb.storage.copy.reader import Block, ParsedRows
from gpudb.storage.iceberg.process_files import write_groups
from gpudb.storage.load import files as inputs
from gpudb.storage.row_processes import trim

_KEPT = 32


def prepare() -> None:
    """Imports what the first call would wait for."""
    import pyarrow.csv
    import pyarrow.parquet  # noqa: F401


@lru_cache(_KEPT)
def unpack(packed: bytes) -> Any:
    """Returns what `row_processes.pack` packed: one object for all calls, so that readers keep what they learn."""
    return pickle.loads(packed)


def read_file(file: inputs.DataFile) -> None:
    """Reads a csv file; asks the server to take each position in the file, and what was read up to it."""
    position = 0

    def move(reached: int) -> None:
        nonlocal position
        position = reached

    for data in inputs.read_csv(file, move):
        ask((position, PickleBuffer(data)))


def read_block(packed: bytes, block: Block, data: memoryview) -> ParsedRows | RowError:
    """Reads a block, whose data come beside it, by a packed reader; an error of a row is returned, not raised."""
    try:
        found: ParsedRows = unpack(packed).read(replace(block, data=bytes(data)))
    except RowError as error:
        return error
    found.columns = [trim(column) for column in found.columns]
    return found


def write_files(
    packed: bytes, directory: Path, groups: Sequence[pa.Table], prefix: str, durable: bool, bucket: int | None
) -> list[DataFile]:
    """Writes row groups, in stored form, of a packed table into files whose names begin with `prefix`."""
    return write_groups(unpack(packed), directory, groups, prefix, durable, bucket)
