"""A worker's packed columns: made of a table's files when first asked for, the longest unused go first."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import polars as pl

from gpudb.catalog.model import Column, DataFile, Table
from gpudb.engine.gpu.columns import Columns
from gpudb.engine.gpu.fused.packed import PackedColumn, joined, pack
from gpudb.engine.gpu.fused.pieces import HostPieces, Piece, Pieces
from gpudb.engine.gpu.fused.prepare import Known
from gpudb.engine.gpu.fused.runs import Run, Runs
from gpudb.engine.gpu.fused.twin import Segment
from gpudb.engine.gpu.fused.values import FLOATS, TEXT, Dictionary
from gpudb.engine.gpu.resident import batched, files_of, side_by_side
from gpudb.engine.gpu.share import Share, read_share
from gpudb.plan.nodes import Scan
from gpudb.types import SqlType

PIECE = 1 << 26
"""Rows that are read and packed at once: their values lie there with 64 bits each meanwhile."""

AHEAD = 4
"""So many of them are read at once."""

_Key = tuple[Run, int, SqlType]


class _Growing:
    """The dictionary of a table's column: codes stay, new texts get the next ones."""

    def __init__(self) -> None:
        self.dictionary = Dictionary(pl.Series([], dtype=pl.String))

    def codes(self, keys: pl.Series) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """The codes of some texts, all different."""
        values = self.dictionary.values
        new = keys.filter(~keys.is_in(values.implode())) if len(values) else keys
        if len(new):
            values = pl.concat([values, new.alias("")])
            self.dictionary = Dictionary(values)
        places = pl.DataFrame({"v": values, "p": np.arange(len(values))})
        found = keys.alias("v").to_frame().join(places, on="v", how="left", maintain_order="left")["p"]
        return found.to_numpy()


class PackedTables:
    """The packed columns that a worker holds, at most `budget` bytes of them; `pieces` say where they lie."""

    def __init__(self, budget: int, pieces: Pieces | HostPieces | None = None) -> None:
        self.budget = budget
        self._pieces = pieces or HostPieces()
        self._lock = threading.RLock()
        self.columns: Columns[_Key, PackedColumn] = Columns()
        self._dictionaries: dict[tuple[int, int], _Growing] = {}
        self._runs: dict[tuple[int, Share], Runs] = {}
        self.version = 0
        """Grows when a table's runs become others."""

    @property
    def bytes(self) -> int:
        """What the columns take."""
        return self.columns.bytes

    def apart(self) -> PackedTables:
        """An empty one of the same kind, for what is read once."""
        return PackedTables(self.budget, self._pieces)

    def source(self, scan: Scan, share: Share, parameters: Sequence[object]) -> PackedSource:
        """The columns of a scan over this worker's share of its files; some that its filter excludes are left out."""
        return PackedSource(self, scan, read_share(scan, share), files_of(scan, parameters))

    def runs(self, table: Table, share: Share, files: Sequence[DataFile]) -> list[Run]:
        """The runs that hold some of a table's files."""
        wanted = {file.path for file in files}
        with self._lock:
            known = self._runs.setdefault((table.oid, share), Runs(share))
            found, gone = known.cover(table)
            self.version += known.changed
            self.columns.forget(lambda key: key[0] in gone)
        return [run for run in found if run.rows and any(file.path in wanted for file in run.files)]

    def column(self, table: Table, column: Column, run: Run, share: Share) -> PackedColumn:
        """A table's column over a run of its files."""
        key = (run, column.field_id, column.type)
        with self._lock:
            kept = self.columns.get(key)
            if kept is not None:
                return kept
            made = joined(self._parts(table, column, run, share), self._pieces.xp)
            parts = {(part, *key[1:]) for part in run.parts}
            self.columns.forget(parts.__contains__)
            self.columns.put(key, made, made.bytes, table.oid, column.name)
            self.columns.shrink(self.budget, least=1)
            return made

    def _parts(self, table: Table, column: Column, run: Run, share: Share) -> list[PackedColumn]:
        """A column packed piece by piece, or as it is in the runs of which this one was made."""
        found: list[PackedColumn] = []
        held = {part: self.columns.get((part, column.field_id, column.type)) for part in run.parts}
        if held and all(each is not None for each in held.values()):
            return [each for each in held.values() if each is not None]
        rows = share.rows(table)
        todo = [
            (file, start, min(start + PIECE, rows[file.path][1]))
            for file in run.files
            for start in range(*rows[file.path], PIECE)
        ]
        for few in batched(todo, AHEAD):
            # Files are read side by side; a dictionary grows in their order.
            for piece in side_by_side(lambda one: self._pieces.piece(one[0], column, *one[1:]), few):
                found.append(self._packed(table, column, piece))
        return found

    def _packed(self, table: Table, column: Column, piece: Piece) -> PackedColumn:
        xp = self._pieces.xp
        if piece.keys is None:
            return pack(piece.values, piece.valid, xp)
        growing = self._dictionaries.setdefault((table.oid, column.field_id), _Growing())
        codes = growing.codes(piece.keys)
        if not len(codes):
            return pack(xp.zeros(len(piece.values), np.int64), piece.valid, xp)
        # A NULL's place may be beyond the keys.
        return pack(xp.asarray(codes)[xp.minimum(piece.values, len(codes) - 1)], piece.valid, xp)

    def dictionary(self, table: Table, column: Column) -> Dictionary:
        """The texts of a column's codes, of all files that were packed."""
        with self._lock:
            return self._dictionaries.setdefault((table.oid, column.field_id), _Growing()).dictionary


class PackedSource:
    """A scan's packed columns, as a pipeline is made over them, and again when it runs."""

    def __init__(self, tables: PackedTables, scan: Scan, share: Share, files: Sequence[DataFile]) -> None:
        self._tables = tables
        self._table = scan.table
        self._columns = [scan.table.columns[index] for index in scan.columns]
        self._share = share
        self._files = files
        self._found: tuple[int, list[Run]] | None = None

    def _runs(self) -> list[Run]:
        if self._found is None or self._found[0] != self._tables.version:
            runs = self._tables.runs(self._table, self._share, self._files)
            self._found = self._tables.version, runs
        return self._found[1]

    @property
    def rows(self) -> int:
        """How many rows a pipeline reads."""
        return sum(run.rows for run in self._runs())

    def _column(self, column: int) -> list[PackedColumn]:
        declared = self._columns[column]
        return [self._tables.column(self._table, declared, run, self._share) for run in self._runs()]

    def known(self, column: int) -> Known:
        """What its segments tell of a column."""
        parts = self._column(column)
        declared = self._columns[column]
        nullable = any(part.form.nullable for part in parts)
        if declared.type.name in FLOATS:
            return Known(None, nullable)
        ends = [(part.low, part.high) for part in parts if part.low is not None and part.high is not None]
        bounds = (min(low for low, _ in ends), max(high for _, high in ends)) if ends else (0, 0)
        if declared.type.name in TEXT:
            dictionary = self._tables.dictionary(self._table, declared)
            return Known((0, max(len(dictionary.values) - 1, 0)), nullable, dictionary)
        return Known(bounds, nullable)

    def segments(self, columns: Sequence[int]) -> list[Segment]:
        """The rows, run by run."""
        runs = self._runs()
        parts = [
            [self._tables.column(self._table, self._columns[column], run, self._share) for column in columns]
            for run in runs
        ]
        return [Segment(run.rows, tuple(each)) for run, each in zip(runs, parts, strict=True)]
