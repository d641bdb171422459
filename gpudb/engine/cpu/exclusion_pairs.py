"""Pairs of rows that an exclusion forbids, found by a DuckDB of their own: a commit may not wait for statements."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pyarrow as pa

from gpudb.catalog.model import Catalog
from gpudb.catalog.tables import DataFile, Exclusion, Table
from gpudb.engine.cpu.engine import CpuEngine
from gpudb.engine.protocol import Request
from gpudb.sql.bind.binder import StatementBinder
from gpudb.sql.bind.dml.exclusions import build_conflict_query
from gpudb.storage.constraints.exclusions import Pair
from gpudb.types import SqlType
from gpudb.values.text_columns import format_text_column


class ExclusionPairs:
    """Finds pairs of rows (see `storage.constraints.exclusions.PairFinder`). Thread-safe.

    The engine is made for the first, and runs nothing else: no statement that waits for a commit keeps its threads.
    """

    def __init__(self, spill: Path, memory_limit: int) -> None:
        """`spill` is a folder for what exceeds `memory_limit`, in bytes."""
        self._spill, self._memory_limit = spill, memory_limit
        self._guard = threading.Lock()
        self._made: CpuEngine | None = None

    @property
    def _engine(self) -> CpuEngine:
        with self._guard:
            if self._made is None:
                self._made = CpuEngine(self._memory_limit, self._spill)
            return self._made

    def close(self) -> None:
        """Closes the engine."""
        with self._guard:
            if self._made is not None:
                self._made.close()

    def find_pair(
        self,
        catalog: Catalog,
        table: Table,
        exclusion: Exclusion,
        new: Sequence[DataFile],
        existing: Sequence[DataFile],
    ) -> Pair | None:
        """See `PairFinder`."""
        binder = StatementBinder(catalog)
        query = build_conflict_query(binder, table, exclusion, new, existing)
        stream = self._engine.run(Request(query, catalog))
        with closing(stream):
            found = pa.Table.from_batches(list(stream), stream.schema)
        if not found.num_rows:
            return None
        texts = [_format(output.type, column) for output, column in zip(query.columns, found.columns, strict=True)]
        half = len(exclusion.keys)
        return Pair(texts[:half], texts[half:])


def _format(kind: SqlType, column: pa.ChunkedArray) -> str:
    text = format_text_column(kind, column.combine_chunks())[0].as_py()
    return "null" if text is None else str(text)
