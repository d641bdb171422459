"""Samples of columns for the planner: some tens of thousands of values out of a few files, read once.

A sample is cached under the files that it was read from. These are chosen by their position among the rows, so that
small appends leave the choice unchanged. Deleted rows count like others, since they are few. Only the one column is
read; of a large chunk only its first rows.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from gpudb.catalog.tables import Column, DataFile, Table
from gpudb.lru import LruCache
from gpudb.plan.cost.sampling import Sample
from gpudb.storage.iceberg.column_layout import names_by_id
from gpudb.storage.object_stores.table_files import make_local

if TYPE_CHECKING:
    import pyarrow.parquet as pq

SAMPLED_VALUES = 30_000
"""Number of sampled values, as in PostgreSQL's ANALYZE by default."""
MAX_FILES, MAX_PLACES = 4, 8
"""Maximum files that are opened, and places at which they are read."""
MAX_WHOLE_BYTES = 4 << 20
"""Column chunks up to this size are read whole, so that they are sampled at several places."""
_BUFFER = 1 << 17
_log = logging.getLogger(__name__)
_known: LruCache[tuple[int, tuple[str, ...]], tuple[Sample | None]] = LruCache(4096)


def sample_column(table: Table, column: Column) -> Sample | None:
    """Returns a sample of a column's values; None for columns stored as structs or lists, or if files cannot be
    read.
    """
    files = _select_spread(table.files, [file.rows for file in table.files], MAX_FILES)
    key = column.field_id, tuple(file.path for file in files)
    known = _known.get(key)
    if known is not None:
        return known[0]
    try:
        found = _summarize(files, column)
    except (OSError, pa.ArrowException) as error:
        _log.warning('no sample of column "%s" of table "%s": %s', column.name, table.name, error)
        return None
    _known.put(key, (found,))
    return found


def _summarize(files: Sequence[DataFile], column: Column) -> Sample | None:
    stretches = [each for file in files for each in _read(file, column, len(files))]
    counted = []
    for each in stretches:
        values, counts = pc.value_counts(each.drop_null()).flatten()
        values = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
        counted.append(pa.table({"v": values, "n": counts}))
    if not counted:
        return None
    together = pa.concat_tables(counted, promote_options="permissive")
    every = together.group_by("v", use_threads=False).aggregate([("n", "sum"), ("n", "count")])
    times, places = every.column("n_sum"), every.column("n_count")
    clustered = pc.and_(pc.greater(times, 1), pc.equal(places, 1))
    return Sample(
        values=pc.sum(times).as_py() or 0,
        distinct=len(every),
        singletons=pc.sum(pc.equal(times, 1)).as_py() or 0,
        clustered=pc.sum(clustered).as_py() or 0,
        places=sum(1 for each in counted if len(each)),
        distinct_sum=len(together),
    )


def _read(file: DataFile, column: Column, files: int) -> Iterator[pa.Array]:
    """Yields a file's share of the values, in runs of adjacent rows."""
    import pyarrow.parquet as pq

    make_local([file.path])
    footer = pq.read_metadata(file.path)
    at, name = _find_leaf(footer, column.field_id)
    if name is None:
        return
    # Texts are read as dictionaries: expanded, few long ones take much more memory than in files.
    coded = [name] if footer.schema.column(at).physical_type == "BYTE_ARRAY" else []
    options = {"metadata": footer, "buffer_size": _BUFFER, "pre_buffer": False, "read_dictionary": coded}
    with pq.ParquetFile(file.path, **options) as opened:
        rows = [footer.row_group(number).num_rows for number in range(footer.num_row_groups)]
        groups = _select_spread(range(len(rows)), rows, max(MAX_PLACES // files, 1))
        rows_needed = SAMPLED_VALUES // files // max(len(groups), 1)
        for group in groups:
            if footer.row_group(group).column(at).total_compressed_size <= MAX_WHOLE_BYTES:
                yield from _read_runs(opened, group, name, rows_needed, max(MAX_PLACES // files // len(groups), 1))
            else:
                batch = next(
                    opened.iter_batches(rows_needed, row_groups=[group], columns=[name], use_threads=False), None
                )
                if batch is not None:
                    yield batch.column(0)


def _read_runs(opened: pq.ParquetFile, group: int, name: str, rows_needed: int, places: int) -> Iterator[pa.Array]:
    """Yields the values of a row group: all if they are at most `rows_needed`, else runs at `places` positions."""
    values = opened.read_row_group(group, columns=[name], use_threads=False).column(0).combine_chunks()
    if len(values) <= rows_needed:
        yield values
        return
    length = max(rows_needed // places, 1)
    for place in range(places):
        yield values.slice((len(values) - length) * place // max(places - 1, 1), length)


def _find_leaf(footer: pq.FileMetaData, field_id: int) -> tuple[int, str | None]:
    """Returns number and name of a column's leaf; no name if it is nested or newer than the file."""
    schema = footer.schema.to_arrow_schema()
    name = names_by_id(schema).get(field_id)
    if name is None or pa.types.is_nested(schema.field(name).type):
        return -1, None
    leaves = [footer.schema.column(number).path for number in range(len(footer.schema))]
    return leaves.index(name), name


def _select_spread(items: Sequence[Any], rows: Sequence[int], most: int) -> list[Any]:
    """Selects at most `most` items: those that contain the middles of equal shares of all their rows."""
    if len(items) <= most:
        return list(items)
    middles = [(2 * number + 1) * sum(rows) / (2 * most) for number in range(most)]
    chosen: list[Any] = []
    passed = 0
    for item, count in zip(items, rows, strict=True):
        passed += count
        if middles and middles[0] < passed:
            chosen.append(item)
        while middles and middles[0] < passed:
            middles.pop(0)
    return chosen
