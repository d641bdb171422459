"""Bytes kept as the rows of a table, in numbered chunks: storage keeps, backs up and removes them as it does tables."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from gpudb.catalog.tables import Column, Table
from gpudb.storage.iceberg.checksums import verify_files
from gpudb.types import INT4, SqlType

CHUNK_BYTES = 1 << 20
COLUMNS = (Column("chunk_seq", INT4), Column("chunk_data", SqlType("bytea")))
"""The columns of a table of bytes, named as those of PostgreSQL's TOAST tables."""


def iter_chunks(content: bytes) -> Iterator[pa.RecordBatch]:
    """Yields bytes as the rows of such a table."""
    for number, start in enumerate(range(0, len(content), CHUNK_BYTES)):
        arrays = [pa.array([number], pa.int32()), pa.array([content[start : start + CHUNK_BYTES]], pa.binary())]
        yield pa.RecordBatch.from_arrays(arrays, names=[each.name for each in COLUMNS])


def read_content(table: Table) -> bytes:
    """Returns the bytes of such a table; XX001 for a file that is missing or damaged."""
    import pyarrow.parquet as pq  # no first query needs it

    paths = [file.path for file in table.files]
    verify_files(paths)
    parts = [pq.read_table(path, partitioning=None) for path in paths]
    rows = pa.concat_tables([part.select([0, 1]).rename_columns(["number", "data"]) for part in parts])
    return b"".join(rows.sort_by("number").column("data").to_pylist())
