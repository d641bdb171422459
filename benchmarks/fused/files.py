"""The large tables as Parquet files of the columns that the queries read: generated on the GPU, or with NumPy if small.

python -m benchmarks.fused.files SUITE FOLDER ROWS [--turn 0/2]: taxi rides by month, with NULLs, and the same with the
places where they begin; SSB's fact table, and its dimensions from `gpudb.demo.star_schema`; two tables whose rows are
exchanged for groups and joins. On a GPU FOLDER/bandwidth has the bandwidth of a copy in bytes per second. With N
processes, one for each GPU, process K writes the files of turn K/N.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gpudb.demo.star_schema import data as ssb

SEED = 20_261_122
MONTHS = 96
"""Months of rides from 2009 on: a file each."""
RIDES, LINES = 1_113_653_018, 600_000_000
GROUP_ROWS = 1 << 20
FILE_ROWS = 20_000_000
SCHEMAS = {
    "taxi": {
        "trips": "cab_type VARCHAR(6) NOT NULL, passenger_count SMALLINT, pickup_datetime TIMESTAMP NOT NULL,"
        " trip_distance NUMERIC(10,2), total_amount NUMERIC(10,2)",
    },
    "places": {
        "trips": "cab_type VARCHAR(6) NOT NULL, passenger_count SMALLINT, pickup_datetime TIMESTAMP NOT NULL,"
        " trip_distance NUMERIC(10,2), total_amount NUMERIC(10,2), pickup_longitude DOUBLE PRECISION,"
        " pickup_latitude DOUBLE PRECISION",
    },
    "ssb": {
        "lineorder": "lo_custkey INTEGER NOT NULL, lo_partkey INTEGER NOT NULL, lo_suppkey INTEGER NOT NULL,"
        " lo_orderdate INTEGER NOT NULL, lo_quantity INTEGER NOT NULL, lo_extendedprice INTEGER NOT NULL,"
        " lo_discount INTEGER NOT NULL, lo_revenue INTEGER NOT NULL, lo_supplycost INTEGER NOT NULL",
    },
    "exchange": {
        "t": "k BIGINT NOT NULL, g SMALLINT NOT NULL, v DOUBLE PRECISION NOT NULL",
        "d": "k BIGINT NOT NULL, w INTEGER NOT NULL",
    },
}
KEYS = 30
"""Rows of the exchange's fact table for each row of the other one."""
_CABS = ("green", "yellow")
Column = tuple[str, Any, Any]
"""A column's Parquet type (`cab`, `int16`, `int32`, `int64`, `float64`, `money`, `moment`), its values, and its
validity mask.
"""


Turn = tuple[int, int]


def write_files(suite: str, folder: Path, rows: int, xp: Any, turn: Turn = (0, 1), file_rows: int = FILE_ROWS) -> None:
    """Writes FOLDER/TABLE/*.parquet, once; of the files those whose number modulo the second of `turn` is the first of
    it, small tables at the first turn. A file has at least `file_rows` if there are so many.
    """
    done = folder / ("done" if turn == (0, 1) else f"done-{turn[0]}-{turn[1]}")
    if done.exists():
        return
    begun = time.perf_counter()
    write: Any = _write_host if xp is np else _write_device
    if suite in ("taxi", "places"):
        (folder / "trips").mkdir(parents=True, exist_ok=True)
        for month, first, last in _files(rows, MONTHS, turn):
            write(folder / "trips" / f"{month:03d}.parquet", _rides(month, last - first, xp, located=suite == "places"))
    elif suite == "exchange":
        for table, total in (("t", rows), ("d", rows // KEYS)):
            (folder / table).mkdir(parents=True, exist_ok=True)
            for part, first, last in _files(total, max(total // file_rows, 2), turn):
                write(folder / table / f"{part:03d}.parquet", _exchanged(table, first, last, rows // KEYS, xp))
    else:
        scale = rows / 6_000_000
        for table in ssb.TABLES[:-1] if turn[0] == 0 else ():
            (folder / table).mkdir(parents=True, exist_ok=True)
            pq.write_table(ssb.table(table, scale), folder / table / "0.parquet")
        (folder / "lineorder").mkdir(parents=True, exist_ok=True)
        for part, first, last in _files(rows, max(rows // file_rows, 1), turn):
            write(folder / "lineorder" / f"{part:03d}.parquet", _lines(part, last - first, scale, xp))
    size = sum(path.stat().st_size for path in folder.rglob("*.parquet"))
    print(f"{suite}: {rows:,} rows, {size / 1e9:.2f} GB in {time.perf_counter() - begun:.1f} s", flush=True)
    done.touch()


def _files(rows: int, count: int, turn: Turn) -> Iterator[tuple[int, int, int]]:
    """Yields the number of each file of this turn, its first row, and the end of its rows."""
    for number in range(turn[0], count, turn[1]):
        yield number, rows * number // count, rows * (number + 1) // count


def _rides(month: int, count: int, xp: Any, *, located: bool) -> dict[str, Column]:
    draws = xp.random.RandomState(SEED + month)
    first = np.datetime64("2009-01", "M") + month
    begins, ends = (int(each.astype("datetime64[us]").astype(np.int64)) for each in (first, first + 1))
    seconds = draws.randint(0, (ends - begins) // 1_000_000, count)
    made = draws.random_sample(count)
    passengers = (xp.minimum(made * made * made * 8, 9) + (made > 0.01)).astype(np.int16)
    there = draws.random_sample(count) > 0.001
    distance = xp.clip(xp.exp(draws.standard_normal(count) * 0.9 + 5.3), 0, 9_999).astype(np.int64)
    # A fare by distance, with rare refunds.
    amount = 250 + distance * 3 + draws.randint(0, 600, count)
    amount = xp.where(draws.random_sample(count) < 0.0005, -amount, amount)
    columns = {
        "cab_type": ("cab", (draws.random_sample(count) > 0.06).astype(np.int32), None),
        "passenger_count": ("int16", passengers, there),
        "pickup_datetime": ("moment", begins + seconds.astype(np.int64) * 1_000_000, None),
        "trip_distance": ("money", distance, None),
        "total_amount": ("money", amount.astype(np.int64), None),
    }
    if located:
        known = draws.random_sample(count) > 0.02
        columns["pickup_longitude"] = ("float64", xp.round(draws.standard_normal(count) * 0.03 - 73.97, 6), known)
        columns["pickup_latitude"] = ("float64", xp.round(draws.standard_normal(count) * 0.03 + 40.75, 6), known)
    return columns


def _exchanged(table: str, first: int, last: int, keys: int, xp: Any) -> dict[str, Column]:
    """Rows of a table with random keys, or of one that has each key once."""
    if table == "d":
        every = xp.arange(first, last, dtype=xp.int64)
        return {"k": ("int64", every, None), "w": ("int32", (every % 100).astype(np.int32), None)}
    draws = xp.random.RandomState(SEED + first // 1000 % 2**31)
    count = last - first
    return {
        "k": ("int64", draws.randint(0, keys, count).astype(np.int64), None),
        "g": ("int16", draws.randint(0, 10, count).astype(np.int16), None),
        "v": ("float64", draws.randint(0, 2**20, count).astype(np.float64) / 64, None),
    }


def _lines(part: int, count: int, scale: float, xp: Any) -> dict[str, Column]:
    """Lines of orders, with the distributions of `gpudb.demo.star_schema`."""
    draws = xp.random.RandomState(SEED + 1000 + part)

    def even(low: int, high: int) -> Any:
        return draws.randint(low, high + 1, count).astype(np.int64)

    customers = ssb.units("customer", scale)
    customer = even(1, customers)
    customer -= customer % 3 == 0
    datekeys = xp.asarray(ssb.table("date1", scale)["d_datekey"].to_numpy()[:2406].astype(np.int64))
    parts = even(1, ssb.units("part", scale))
    price = 90_000 + parts // 10 % 20_001 + parts % 1000 * 100
    quantity, discount = even(1, 50), even(0, 10)
    extended = quantity * price
    columns = {
        "lo_custkey": xp.maximum(customer, 1),
        "lo_partkey": parts,
        "lo_suppkey": even(1, ssb.units("supplier", scale)),
        "lo_orderdate": datekeys[even(0, 2405)],
        "lo_quantity": quantity,
        "lo_extendedprice": extended,
        "lo_discount": discount,
        "lo_revenue": extended * (100 - discount) // 100,
        "lo_supplycost": price * 6 // 10,
    }
    return {name: ("int32", values.astype(np.int32), None) for name, values in columns.items()}


def _write_host(path: Path, columns: dict[str, Column]) -> None:
    made = {}
    for name, (kind, values, there) in columns.items():
        mask = None if there is None else ~there
        if kind == "cab":
            made[name] = pa.DictionaryArray.from_arrays(pa.array(values), pa.array(_CABS)).cast(pa.string())
        elif kind == "money":
            halves = np.stack([values, values >> 63], 1)
            made[name] = pa.Array.from_buffers(pa.decimal128(10, 2), len(values), [None, pa.py_buffer(halves)])
        else:
            made[name] = pa.array(values, mask=mask).cast(pa.timestamp("us") if kind == "moment" else kind)
    pq.write_table(pa.table(made), path, row_group_size=GROUP_ROWS, store_decimal_as_integer=True)


def _write_device(path: Path, columns: dict[str, Column]) -> None:
    import cupy
    import pylibcudf as plc

    kinds = {
        "cab": plc.DataType(plc.TypeId.INT32),
        "int16": plc.DataType(plc.TypeId.INT16),
        "int32": plc.DataType(plc.TypeId.INT32),
        "int64": plc.DataType(plc.TypeId.INT64),
        "float64": plc.DataType(plc.TypeId.FLOAT64),
        "money": plc.DataType(plc.TypeId.DECIMAL64, scale=-2),
        "moment": plc.DataType(plc.TypeId.TIMESTAMP_MICROSECONDS),
    }
    made: list[Any] = []
    cupy.cuda.runtime.deviceSynchronize()
    for kind, values, there in columns.values():
        mask, nulls = None, 0
        if there is not None:
            bits = cupy.zeros(-(-len(there) // 512) * 64, np.uint8)
            packed = cupy.packbits(there, bitorder="little")
            bits[: len(packed)] = packed
            mask, nulls = plc.gpumemoryview(bits), int((~there).sum())
        cupy.cuda.runtime.deviceSynchronize()
        column = plc.Column(kinds[kind], len(values), plc.gpumemoryview(values.view(np.uint8)), mask, nulls, 0, [])
        if kind == "cab":
            texts = plc.Table([plc.Column.from_arrow(pa.array(_CABS))])
            (column,) = plc.copying.gather(texts, column, plc.copying.OutOfBoundsPolicy.DONT_CHECK).columns()
        made.append(column)
    table = plc.Table(made)
    metadata = plc.io.types.TableInputMetadata(table)
    for column, (name, (kind, _, there)) in zip(metadata.column_metadata, columns.items(), strict=True):
        column.set_name(name).set_nullability(there is not None)
        if kind == "money":
            column.set_decimal_precision(10)
    options = (
        plc.io.parquet.ParquetWriterOptions.builder(plc.io.SinkInfo([str(path)]), table)
        .metadata(metadata)
        .compression(plc.io.types.CompressionType.SNAPPY)
        .stats_level(plc.io.types.StatisticsFreq.STATISTICS_ROWGROUP)
        .utc_timestamps(False)
        .row_group_size_rows(GROUP_ROWS)
        .build()
    )
    plc.io.parquet.write_parquet(options)


def main() -> None:
    """Writes a suite's files, on the GPU if CuPy finds one."""
    parser = argparse.ArgumentParser(description="write the large tables as Parquet files")
    parser.add_argument("suite", choices=sorted(SCHEMAS))
    parser.add_argument("folder", type=Path)
    parser.add_argument("rows", type=int)
    parser.add_argument("--turn", default="0/1", help="this process's turn among several, such as 1/2")
    parser.add_argument("--file-rows", type=int, default=FILE_ROWS)
    given = parser.parse_args()
    number, count = map(int, given.turn.split("/"))
    xp: Any = np
    counted: Callable[[], int] = lambda: 0  # noqa: E731
    try:
        import cupy

        counted = cupy.cuda.runtime.getDeviceCount
        xp = cupy if counted() else np
    except Exception as error:
        print(f"without a GPU: {type(error).__name__}", flush=True)
    write_files(given.suite, given.folder, given.rows, xp, (number, count), given.file_rows)
    if xp is not np and number == 0:
        from benchmarks.fused.roofline import bandwidth

        xp.get_default_memory_pool().free_all_blocks()
        (given.folder / "bandwidth").write_text(str(bandwidth(xp)))


if __name__ == "__main__":
    main()
