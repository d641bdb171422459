"""A worker's cache of packed columns: read from a table's files on first use, evicted by least recent use."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gpudb.catalog.tables import Column, DataFile, Table
from gpudb.engine.figures import track_step
from gpudb.engine.gpu.cache.column_cache import ColumnCache
from gpudb.engine.gpu.cache.dictionaries import Dictionaries, GrowingDictionary
from gpudb.engine.gpu.cache.host_columns import pruned_files
from gpudb.engine.gpu.cache.partition import Partition, scan_partition
from gpudb.engine.gpu.fused.columns.packed_column import PackedColumn
from gpudb.engine.gpu.fused.numpy_backend.executor import Segment
from gpudb.engine.gpu.fused.packed_cache.column_chunks import ChunkReader, ColumnChunk, HostChunkReader
from gpudb.engine.gpu.fused.packed_cache.read_batches import ReadBatch, plan_reads, run_reads
from gpudb.engine.gpu.fused.packed_cache.segments import FileRun, FileRuns
from gpudb.engine.gpu.fused.planning.prepared_pipeline import ColumnFacts
from gpudb.engine.gpu.fused.translate.typed_values import PLAIN_TEXT, TEXT, NotFused
from gpudb.plan.tree.nodes import Scan
from gpudb.types import SqlType
from gpudb.types.facts import FLOATS

DISTINCT_SAMPLE = 0.5, 1 << 18
"""A column may be raw text if more than this share of so many sampled texts are distinct."""
LEAST_OTHERS = 64
"""Texts beside the commonest two are a sample of their own where they are at least one in so many."""
MAX_CODED_ROWS = 1 << 22
"""Columns of mostly distinct texts get a dictionary only in tables of at most so many rows: it is made on the host."""

Variant = GrowingDictionary | bool
"""How a column is packed: by a dictionary, as raw text (True), or as numbers (False)."""
_Key = tuple[FileRun, int, SqlType, Variant]
"""A run, a column's field id and type, and its form."""


class PackedTables:
    """Caches at most `budget` bytes of packed columns; `reader` reads and packs them, on the host or a GPU.

    One thread at a time reads missing columns; threads that find theirs cached do not wait for it.

    In tables of at least `raw_text_rows` rows, columns of mostly distinct texts may be raw text (None: never).
    """

    def __init__(
        self, budget: int, reader: ChunkReader | HostChunkReader | None = None, raw_text_rows: int | None = None
    ) -> None:
        self.budget, self._raw_text_rows = budget, raw_text_rows
        self._distinct: dict[tuple[int, int], bool] = {}
        self._reader = reader or HostChunkReader()
        self._lock, self._loading = threading.RLock(), threading.RLock()
        self.columns: ColumnCache[_Key, PackedColumn] = ColumnCache()
        self._dictionaries = Dictionaries()
        self._runs: dict[tuple[int, Partition], FileRuns] = {}
        self.version = 0
        """Increases when a table's runs change."""

    @property
    def bytes(self) -> int:
        """Bytes of the cached columns."""
        return self.columns.bytes

    def uncached(self) -> PackedTables:
        """Returns an empty cache of the same configuration, for columns that are read once."""
        return PackedTables(self.budget, self._reader, self._raw_text_rows)

    def source(self, scan: Scan, partition: Partition, parameters: Sequence[object]) -> PackedSource:
        """Returns the columns of a scan over this worker's share of the files that its filter does not exclude."""
        return PackedSource(self, scan, scan_partition(scan, partition), pruned_files(scan, parameters))

    def runs(self, table: Table, partition: Partition, files: Sequence[DataFile]) -> list[FileRun]:
        """Returns the runs that contain some of a table's files."""
        ids = {file.id for file in files}
        with self._lock:
            known = self._runs.setdefault((table.oid, partition), FileRuns(partition, self.budget))
            found, gone = known.cover(table)
            self.version += known.changed
            self.columns.discard_where(lambda key: key[0] in gone)
        return [run for run in found if run.rows and any(file.id in ids for file in run.files)]

    def evict(self, table: int) -> int:
        """Evicts a table's columns and metadata; returns the bytes of the columns."""
        with self._loading, self._lock:
            self._dictionaries.drop_table(table)
            self._runs = {key: runs for key, runs in self._runs.items() if key[0] != table}
            self._distinct = {key: known for key, known in self._distinct.items() if key[0] != table}
            self.version += 1
            return self.columns.evict(table)

    def has_raw_text(self, table: Table, column: Column) -> bool:
        """Whether a text column is available as raw text: most of its sampled texts are distinct."""
        if (
            self._raw_text_rows is None
            or not table.files
            or column.type.name not in PLAIN_TEXT
            or table.rows < self._raw_text_rows
        ):
            return False
        return self._is_mostly_distinct(table, column)

    def refuses_codes(self, table: Table, column: Column) -> bool:
        """Whether a dictionary of a text column would be too costly: its table is large, its texts mostly distinct."""
        return table.rows > MAX_CODED_ROWS and bool(table.files) and self._is_mostly_distinct(table, column)

    def _is_mostly_distinct(self, table: Table, column: Column) -> bool:
        """Whether most texts of a column are distinct in a sample, the same for all workers; it is taken once."""
        key = (table.oid, column.field_id)
        known = self._distinct.get(key)
        if known is None:
            with self._loading:  # not _lock: readers of cached columns would wait for a file
                known = self._distinct.get(key)
                if known is None:
                    known = self._distinct[key] = self._sample(table, column)
        return known

    def _sample(self, table: Table, column: Column) -> bool:
        most, rows = DISTINCT_SAMPLE
        file = max(table.files, key=lambda each: each.rows)
        rows = min(rows, file.rows)
        (chunk,) = self._reader.read(file, [column], 0, rows)
        if isinstance(chunk, NotFused) or chunk.keys is None:
            return False
        if len(chunk.keys) > most * rows:
            return True
        if not len(chunk.keys):
            return False
        # NULLs or empty texts may be most rows, and the others distinct.
        counts = np.bincount(chunk.values)  # of an array on the GPU, it is computed there
        counts.sort()
        others = rows - int(counts[-2:].sum())
        return others * LEAST_OTHERS >= rows and len(chunk.keys) > most * others + 2

    def variant(self, table: Table, column: Column, *, raw: bool = False) -> Variant:
        """Returns how a column is packed now; `raw` selects raw text."""
        if column.type.name not in TEXT:
            return False
        if raw:
            return True
        with self._lock:
            made, before = self._dictionaries.current(table, column)
            if before is not None:
                self.columns.discard_where(lambda key: key[3] is before)
            return made

    def column(
        self, table: Table, column: Column, run: FileRun, partition: Partition, variant: Variant
    ) -> PackedColumn:
        """Returns a table's column over a run of its files; NotFused for one that cannot be packed."""
        key = (run, column.field_id, column.type, variant)
        kept = self.columns.get(key)
        if kept is not None:
            return kept
        with self._loading:
            kept = self.columns.get(key)
            if kept is not None:
                return kept
            (made,) = self._pack_columns(table, [column], run, partition, variant)
        if isinstance(made, NotFused):
            raise made
        return made

    def load(self, table: Table, columns: Sequence[Column], run: FileRun, partition: Partition) -> list[Column]:
        """Reads the columns that are not cached, and returns those that cannot be packed.

        Fixed-width columns are read together; a text column is read alone, for its dictionary.
        """
        refused: list[Column] = []
        variants = {each.field_id: self.variant(table, each, raw=self.has_raw_text(table, each)) for each in columns}
        keys = [(run, each.field_id, each.type, variants[each.field_id]) for each in columns]
        with self._loading:
            missing = [each for each, key in zip(columns, keys, strict=True) if not self.columns.contains(key)]
            fixed = [each for each in missing if each.type.name not in TEXT]
            for some in [fixed, *([each] for each in missing if each not in fixed)]:
                variant = variants[some[0].field_id] if some else False
                for column, made in zip(some, self._pack_columns(table, some, run, partition, variant), strict=True):
                    if isinstance(made, NotFused):
                        refused.append(column)
        return refused

    @track_step("loading")
    def _pack_columns(
        self, table: Table, columns: Sequence[Column], run: FileRun, partition: Partition, variant: Variant
    ) -> list[PackedColumn | NotFused]:
        """Packs columns of one form over a run, and caches them."""
        found: list[PackedColumn | NotFused] = []
        for column, parts in zip(columns, self._pack_parts(table, columns, run, partition, variant), strict=True):
            if isinstance(parts, NotFused):
                found.append(parts)
                continue
            made = self._reader.concatenate(parts)
            parts.clear()
            key = (run, column.field_id, column.type, variant)
            before = {(part, *key[1:]) for part in run.parts}
            self.columns.discard_where(before.__contains__)
            self.columns.put(key, made, made.bytes, table.oid, column.name)
            self.columns.shrink(self.budget, least=1)
            found.append(made)
        return found

    def _pack_parts(
        self, table: Table, columns: Sequence[Column], run: FileRun, partition: Partition, variant: Variant
    ) -> list[list[PackedColumn] | NotFused]:
        """Returns columns packed chunk by chunk, or as cached for the runs that this one was merged from."""
        found: list[list[PackedColumn] | NotFused] = []
        missing: list[int] = []
        for position, column in enumerate(columns):
            held = [self.columns.get((part, column.field_id, column.type, variant)) for part in run.parts]
            cached = [each for each in held if each is not None]
            found.append(cached if len(cached) == len(held) else [])
            missing += [position] if not cached or len(cached) < len(held) else []
        if not missing:
            return found
        requested = [columns[position] for position in missing]
        rows = partition.row_ranges(table)

        def read(one: ReadBatch) -> list[ColumnChunk | PackedColumn | NotFused]:
            some = [requested[position] for position in one.columns]
            if variant is True:
                return [self._read_raw_text(one.file, column, one.first, one.last) for column in some]
            chunks: list[ColumnChunk | PackedColumn | NotFused] = [
                each if isinstance(each, NotFused) else _find_codes(variant, each)
                for each in self._reader.read(one.file, some, one.first, one.last)
            ]
            return chunks if self._reader.packs_in_order else self._pack_fixed(chunks)

        def finish(
            _: ReadBatch, found: list[ColumnChunk | PackedColumn | NotFused]
        ) -> list[ColumnChunk | PackedColumn | NotFused]:
            return self._pack_fixed(found) if self._reader.packs_in_order else found

        plan = plan_reads([(file, *rows[file.id]) for file in run.files], requested, self.budget)
        for one, made in run_reads(read, plan, finish):
            for position, each in zip(one.columns, made, strict=True):
                parts = found[missing[position]]
                if isinstance(each, NotFused):
                    found[missing[position]] = each
                elif not isinstance(parts, NotFused):
                    parts.append(self._pack_texts(variant, each) if isinstance(each, ColumnChunk) else each)
        return found

    def _pack_fixed(
        self, chunks: Sequence[ColumnChunk | PackedColumn | NotFused]
    ) -> list[ColumnChunk | PackedColumn | NotFused]:
        """Packs the chunks that are not texts: those are packed later, since a dictionary grows in the files' order."""
        fixed = [each for each in chunks if isinstance(each, ColumnChunk) and each.keys is None]
        made = iter(self._reader.pack(fixed))
        return [next(made) if isinstance(each, ColumnChunk) and each.keys is None else each for each in chunks]

    def _read_raw_text(self, file: DataFile, column: Column, first: int, last: int) -> PackedColumn | NotFused:
        """Reads a chunk of raw text."""
        try:
            return self._reader.read_raw_text(file, column, first, last)
        except NotFused as reason:
            return reason

    def _pack_texts(self, variant: Variant, chunk: ColumnChunk) -> PackedColumn:
        """Packs a chunk of text by a dictionary."""
        assert chunk.keys is not None
        assert isinstance(variant, GrowingDictionary)
        return self._reader.pack_codes(chunk, variant.encode(chunk.keys, chunk.codes))


def _find_codes(variant: Variant, chunk: ColumnChunk) -> ColumnChunk:
    """Looks a chunk's texts up in the dictionary as it is, in the thread that has read the chunk."""
    if chunk.keys is None or not isinstance(variant, GrowingDictionary):
        return chunk
    return replace(chunk, codes=variant.find(chunk.keys))


class PackedSource:
    """A scan's packed columns, used when a pipeline is prepared and each time it runs."""

    def __init__(self, tables: PackedTables, scan: Scan, partition: Partition, files: Sequence[DataFile]) -> None:
        self._tables = tables
        # A run is read whole, and of files only the needed parts are.
        self._table = replace(scan.table, files=tuple(files)) if scan.table.format else scan.table
        self._columns = [scan.table.columns[index] for index in scan.columns]
        self._share = partition
        self._files = files
        self._cached_runs: tuple[int, list[FileRun]] | None = None
        self._variants: dict[int, Variant] = {}
        self._loaded = False

    def _runs(self) -> list[FileRun]:
        version = self._tables.version  # read first: a concurrent change is detected next time
        if self._cached_runs is None or self._cached_runs[0] != version:
            self._cached_runs = version, self._tables.runs(self._table, self._share, self._files)
        return self._cached_runs[1]

    @property
    def rows(self) -> int:
        """Number of rows that a pipeline reads."""
        return sum(run.rows for run in self._runs())

    def _variant(self, column: int, *, raw: bool = False) -> Variant:
        """Returns the form of a column's first use here, so that its codes are those of one dictionary."""
        if raw:
            return True
        if column not in self._variants:
            self._variants[column] = self._tables.variant(self._table, self._columns[column])
        return self._variants[column]

    @property
    def is_stale(self) -> bool:
        """Whether another dictionary has replaced one of the scan's."""
        return any(variant.is_replaced for variant in self._variants.values() if isinstance(variant, GrowingDictionary))

    def _column(self, column: int, *, raw: bool = False) -> list[PackedColumn]:
        if not self._loaded:
            # Reading them one by one would wait for each.
            for run in self._runs():
                fixed = [each for each in self._columns if each.type.name not in TEXT]
                self._tables.load(self._table, fixed, run, self._share)
            self._loaded = True
        declared, variant = self._columns[column], self._variant(column, raw=raw)
        return [self._tables.column(self._table, declared, run, self._share, variant) for run in self._runs()]

    def facts(self, column: int, *, raw: bool = False) -> ColumnFacts:
        """Returns the facts about a column from its segments; `raw` allows raw text.

        NotFused for texts that would need a dictionary that is refused: frames read them as they are.
        """
        declared = self._columns[column]
        if raw and self._tables.has_raw_text(self._table, declared):
            held = self._column(column, raw=True)
            plain = all(part.texts is not None and part.texts.ascii for part in held)
            return ColumnFacts((0, 0), any(part.encoding.nullable for part in held), raw_ascii=plain)
        if declared.type.name in TEXT and self._tables.refuses_codes(self._table, declared):
            raise NotFused("a dictionary of mostly distinct texts")
        parts = self._column(column)
        nullable = any(part.encoding.nullable for part in parts)
        if declared.type.name in FLOATS:
            return ColumnFacts(None, nullable)
        ends = [(part.low, part.high) for part in parts if part.low is not None and part.high is not None]
        bounds = (min(low for low, _ in ends), max(high for _, high in ends)) if ends else (0, 0)
        if declared.type.name in TEXT:
            codes = self._variant(column)
            assert isinstance(codes, GrowingDictionary)
            dictionary = codes.dictionary
            return ColumnFacts((0, max(len(dictionary.values) - 1, 0)), nullable, dictionary)
        return ColumnFacts(bounds, nullable)

    def segments(self, columns: Sequence[int], raw: Sequence[int] = ()) -> list[Segment]:
        """Returns a segment per run."""
        runs = self._runs()
        variants = [self._variant(column, raw=column in raw) for column in columns]
        parts = [
            [
                self._tables.column(self._table, self._columns[column], run, self._share, variant)
                for column, variant in zip(columns, variants, strict=True)
            ]
            for run in runs
        ]
        return [Segment(run.rows, tuple(each)) for run, each in zip(runs, parts, strict=True)]
