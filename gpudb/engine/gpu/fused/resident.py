"""A worker's packed columns: made of a table's files when first asked for, the longest unused go first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from gpudb.catalog.model import DataFile
from gpudb.engine.gpu.fused.packed import PackedColumn, pack_series
from gpudb.engine.gpu.fused.prepare import Known
from gpudb.engine.gpu.fused.twin import Segment
from gpudb.engine.gpu.fused.values import FLOATS, TEXT, Dictionary, NotFused
from gpudb.engine.gpu.resident import ResidentTables, Share, files_of, read_share
from gpudb.plan.nodes import Scan

_Key = tuple[str, int, str, Share]


class _Growing:
    """The dictionary of a table's column: codes stay, new texts get the next ones."""

    def __init__(self) -> None:
        self.dictionary = Dictionary(pl.Series([], dtype=pl.String))

    def codes(self, series: pl.Series) -> pl.Series:
        values = self.dictionary.values
        found = series.drop_nulls().unique(maintain_order=True)
        new = found.filter(~found.is_in(values.implode())) if len(values) else found
        if len(new):
            values = pl.concat([values, new.alias("")])
            self.dictionary = Dictionary(values)
        places = pl.DataFrame({"v": values, "p": np.arange(len(values))})
        return series.alias("v").to_frame().join(places, on="v", how="left", maintain_order="left")["p"]


class PackedTables:
    """The packed columns that a worker holds, at most `budget` bytes of them; `xp` is where they lie."""

    def __init__(self, tables: ResidentTables, budget: int, xp: Any = np) -> None:
        self._tables = tables
        self._budget = budget
        self._xp = xp
        self._lock = threading.Lock()
        self._columns: OrderedDict[_Key, PackedColumn] = OrderedDict()
        self._dictionaries: dict[tuple[int, int], _Growing] = {}
        self._bytes = 0

    def source(self, scan: Scan, share: Share, parameters: Sequence[object]) -> PackedSource:
        """The columns of a scan, over this worker's share of the files that its filter does not exclude."""
        share = read_share(scan, share)
        files = [file for file in files_of(scan, parameters) if len(range(*share.rows(scan.table, file)))]
        return PackedSource(self, scan, share, files)

    def column(self, scan: Scan, file: DataFile, column: int, share: Share) -> PackedColumn:
        """A scan's column of one file."""
        declared = scan.table.columns[scan.columns[column]]
        key = (file.path, declared.field_id, str(declared.type), share)
        with self._lock:
            if key in self._columns:
                self._columns.move_to_end(key)
                return self._columns[key]
            one = replace(scan.table, files=(file,))
            plain = Scan(one, (scan.columns[column],))
            made = self._packed(self._tables.frame(plain, share, ()).lazy.collect()["c0"], scan, column)
            self._columns[key] = made
            self._bytes += made.bytes
            while self._bytes > self._budget and len(self._columns) > 1:
                _, gone = self._columns.popitem(last=False)
                self._bytes -= gone.bytes
            return made

    def _packed(self, series: pl.Series, scan: Scan, column: int) -> PackedColumn:
        declared = scan.table.columns[scan.columns[column]]
        if declared.type.name in TEXT:
            growing = self._dictionaries.setdefault((scan.table.oid, declared.field_id), _Growing())
            series = growing.codes(series)
        made = pack_series(series)
        if made is None:
            raise NotFused("a numeric of more than 64 bits")
        return made.on(self._xp) if self._xp is not np else made

    def dictionary(self, scan: Scan, column: int) -> Dictionary:
        """The texts of a column's codes, of all files that were packed."""
        declared = scan.table.columns[scan.columns[column]]
        with self._lock:
            return self._dictionaries.setdefault((scan.table.oid, declared.field_id), _Growing()).dictionary


class PackedSource:
    """A scan's packed columns, as a pipeline is made over them."""

    def __init__(self, tables: PackedTables, scan: Scan, share: Share, files: Sequence[DataFile]) -> None:
        self._tables = tables
        self._scan = scan
        self._share = share
        self._files = files
        self.rows = sum(last - first for first, last in (share.rows(scan.table, file) for file in files))

    def _column(self, column: int) -> list[PackedColumn]:
        return [self._tables.column(self._scan, file, column, self._share) for file in self._files]

    def known(self, column: int) -> Known:
        """What its segments tell of a column."""
        parts = self._column(column)
        kind = self._scan.types[column]
        nullable = any(part.form.nullable for part in parts)
        if kind.name in FLOATS:
            return Known(None, nullable)
        ends = [(part.low, part.high) for part in parts if part.low is not None and part.high is not None]
        bounds = (min(low for low, _ in ends), max(high for _, high in ends)) if ends else (0, 0)
        if kind.name in TEXT:
            dictionary = self._tables.dictionary(self._scan, column)
            return Known((0, max(len(dictionary.values) - 1, 0)), nullable, dictionary)
        return Known(bounds, nullable)

    def segments(self, columns: Sequence[int]) -> list[Segment]:
        """The scan's rows, file by file."""
        parts = [self._column(column) for column in columns]
        counts = [last - first for first, last in (self._share.rows(self._scan.table, file) for file in self._files)]
        return [Segment(count, tuple(part[place] for part in parts)) for place, count in enumerate(counts) if count]
