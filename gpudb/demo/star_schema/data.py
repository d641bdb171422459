"""The star schema benchmark's five tables at any scale factor, with the cardinalities and domains of dbgen.

Customers 30,000 times the scale, suppliers 2,000 times, parts 200,000 times (1 + floor(log2 scale)), days
2,556, orders 1,500,000 times with one to seven lines each. Money is in cents. Row k of a table is the same
however the table is divided into batches or parts.
Source: O'Neil, O'Neil, Chen, Revilak: The Star Schema Benchmark, revision 3 (2009).
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from datetime import date, timedelta
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from gpudb.demo.star_schema import words

TABLES = ("date1", "customer", "supplier", "part", "lineorder")
SEED = 1992

BLOCK = 65_536
"""Rows of a dimension, or orders, that are generated together from one random stream."""

_INT, _TEXT = pa.int32(), pa.string()
_COLUMNS = {
    "date1": (
        "d_datekey:i d_date:t d_dayofweek:t d_month:t d_year:i d_yearmonthnum:i d_yearmonth:t "
        "d_daynuminweek:i d_daynuminmonth:i d_daynuminyear:i d_monthnuminyear:i d_weeknuminyear:i "
        "d_sellingseason:t d_lastdayinweekfl:i d_lastdayinmonthfl:i d_holidayfl:i d_weekdayfl:i"
    ),
    "customer": "c_custkey:i c_name:t c_address:t c_city:t c_nation:t c_region:t c_phone:t c_mktsegment:t",
    "supplier": "s_suppkey:i s_name:t s_address:t s_city:t s_nation:t s_region:t s_phone:t",
    "part": "p_partkey:i p_name:t p_mfgr:t p_category:t p_brand1:t p_color:t p_type:t p_size:i p_container:t",
    "lineorder": (
        "lo_orderkey:l lo_linenumber:i lo_custkey:i lo_partkey:i lo_suppkey:i lo_orderdate:i "
        "lo_orderpriority:t lo_shippriority:i lo_quantity:i lo_extendedprice:i lo_ordtotalprice:i "
        "lo_discount:i lo_revenue:i lo_supplycost:i lo_tax:i lo_commitdate:i lo_shipmode:t"
    ),
}
_KINDS = {"i": _INT, "l": pa.int64(), "t": _TEXT}

SCHEMAS = {
    table: pa.schema([(name, _KINDS[kind]) for name, kind in (column.split(":") for column in columns.split())])
    for table, columns in _COLUMNS.items()
}

_FIRST_DAY = date(1992, 1, 1)
_DAYS = 2556
_ORDER_DAYS = 2406  # the last order is 151 days before the end of 1998
_MOST_LINES = 7
_HOLIDAYS = {(1, 1), (2, 20), (4, 20), (5, 20), (7, 20), (8, 20), (9, 20), (10, 20), (11, 20), (12, 24)}
_SEASONS = (
    ["Winter"] * 3 + ["Spring"] + ["Summer"] * 4 + ["Fall"] * 2 + ["Christmas"] * 2
)  # by month, as in the generator of the paper's authors

Ints = npt.NDArray[np.int64]


def units(table: str, scale: float) -> int:
    """Returns a table's row count; for lineorder, the number of orders."""
    match table:
        case "date1":
            return _DAYS
        case "customer":
            return max(1, round(30_000 * scale))
        case "supplier":
            return max(1, round(2_000 * scale))
        case "part":
            grown = 1 + math.floor(math.log2(scale)) if scale >= 1 else scale
            return max(1, round(200_000 * grown))
        case "lineorder":
            return max(1, round(1_500_000 * scale))
    raise ValueError(f"no such table: {table}")


def batches(table: str, scale: float, seed: int = SEED, part: int = 0, parts: int = 1) -> Iterator[pa.RecordBatch]:
    """Yields a table's rows; of `parts` equal divisions of its blocks only number `part`."""
    count = units(table, scale)
    blocks = -(-count // BLOCK)
    for block in range(blocks * part // parts, blocks * (part + 1) // parts):
        first = block * BLOCK
        numbers = np.arange(first, min(first + BLOCK, count))
        rng = np.random.Generator(np.random.SFC64([seed, TABLES.index(table), block]))
        columns = _MAKERS[table](numbers, rng, scale)
        yield pa.RecordBatch.from_arrays([_arrow(column) for column in columns], schema=SCHEMAS[table])


def table(name: str, scale: float, seed: int = SEED) -> pa.Table:
    """Returns a whole table in memory."""
    return pa.Table.from_batches(batches(name, scale, seed), schema=SCHEMAS[name])


def write(folder: Path, scale: float, seed: int = SEED, parts: int = 1) -> None:
    """Writes FOLDER/TABLE.parquet, or with several parts FOLDER/lineorder.N.parquet."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in TABLES:
        cuts = parts if name == "lineorder" else 1
        for part in range(cuts):
            path = folder / (f"{name}.{part}.parquet" if cuts > 1 else f"{name}.parquet")
            with pq.ParquetWriter(path, SCHEMAS[name], compression="zstd") as writer:
                for batch in batches(name, scale, seed, part, cuts):
                    writer.write_batch(batch)


def _arrow(column: pa.Array | npt.NDArray[np.generic] | list[object]) -> pa.Array:
    if isinstance(column, pa.Array):
        return column
    return pa.array(column)


def _ints(column: npt.NDArray[np.integer]) -> npt.NDArray[np.int32]:
    return column.astype(np.int32)


def _pick(rng: np.random.Generator, dictionary: pa.Array, count: int) -> pa.Array:
    return dictionary.take(pa.array(rng.integers(0, len(dictionary), count, dtype=np.int32)))


@cache
def _dates() -> dict[str, pa.Array]:
    """Columns of the date dimension."""
    days = [_FIRST_DAY + timedelta(number) for number in range(_DAYS)]
    year_days = [day.timetuple().tm_yday for day in days]
    weekdays = [day.isoweekday() % 7 + 1 for day in days]  # Sunday is 1
    columns: list[list[object]] = [
        [day.year * 10_000 + day.month * 100 + day.day for day in days],
        [f"{words.MONTHS[day.month - 1]} {day.day}, {day.year}" for day in days],
        [words.WEEKDAYS[weekday - 1] for weekday in weekdays],
        [words.MONTHS[day.month - 1] for day in days],
        [day.year for day in days],
        [day.year * 100 + day.month for day in days],
        [f"{words.MONTHS[day.month - 1][:3]}{day.year}" for day in days],
        list(weekdays),
        [day.day for day in days],
        list(year_days),
        [day.month for day in days],
        [number // 7 + 1 for number in year_days],
        [_SEASONS[day.month - 1] for day in days],
        [int(weekday == 7) for weekday in weekdays],
        [int((day + timedelta(1)).day == 1) for day in days],
        [int((day.month, day.day) in _HOLIDAYS) for day in days],
        [int(2 <= weekday <= 6) for weekday in weekdays],
    ]
    return {field.name: pa.array(values, field.type) for field, values in zip(SCHEMAS["date1"], columns)}


def _date1(numbers: Ints, _rng: np.random.Generator, _scale: float) -> list[pa.Array]:
    return [column.take(pa.array(numbers)) for column in _dates().values()]


def _customer(numbers: Ints, rng: np.random.Generator, _scale: float) -> list[object]:
    return [*_party("Customer", numbers, rng), _pick(rng, words.SEGMENTS, len(numbers))]


def _supplier(numbers: Ints, rng: np.random.Generator, _scale: float) -> list[object]:
    return _party("Supplier", numbers, rng)


def _party(kind: str, numbers: Ints, rng: np.random.Generator) -> list[object]:
    """Key, name, address, city, nation, region and phone."""
    count = len(numbers)
    nation = rng.integers(0, len(words.NATIONS), count)
    city = nation * 10 + rng.integers(0, 10, count)
    names, regions = zip(*words.NATIONS)
    cities = [f"{name[:9]:<9}{digit}" for name in names for digit in range(10)]
    area, exchange = rng.integers(100, 1000, (2, count))
    line = rng.integers(1000, 10_000, count)
    phones = [
        f"{n + 10}-{a}-{e}-{x}" for n, a, e, x in zip(nation.tolist(), area.tolist(), exchange.tolist(), line.tolist())
    ]
    return [
        _ints(numbers + 1),
        [f"{kind}#{number:09d}" for number in (numbers + 1).tolist()],
        _addresses(rng, count),
        pa.array(cities).take(pa.array(city)),
        pa.array(names).take(pa.array(nation)),
        pa.array(regions).take(pa.array(nation)),
        phones,
    ]


def _addresses(rng: np.random.Generator, count: int) -> list[str]:
    """Random texts of 10 to 25 letters and digits."""
    letters = np.frombuffer(words.ADDRESS_LETTERS.encode(), np.uint8)
    drawn = letters[rng.integers(0, len(letters), (count, 25))].tobytes().decode()
    lengths = rng.integers(10, 26, count).tolist()
    return [drawn[25 * row : 25 * row + length] for row, length in enumerate(lengths)]


def _part(numbers: Ints, rng: np.random.Generator, _scale: float) -> list[object]:
    count = len(numbers)
    maker, category, brand = rng.integers(0, 5, count), rng.integers(0, 5, count), rng.integers(0, 40, count)
    makers = [f"MFGR#{number}" for number in range(1, 6)]
    categories = [f"{name}{number}" for name in makers for number in range(1, 6)]
    brands = [f"{name}{number}" for name in categories for number in range(1, 41)]
    first, second = (words.COLORS.take(pa.array(rng.integers(0, len(words.COLORS), count))) for _ in range(2))
    return [
        _ints(numbers + 1),
        pc.binary_join_element_wise(first, second, " "),
        pa.array(makers).take(pa.array(maker)),
        pa.array(categories).take(pa.array(maker * 5 + category)),
        pa.array(brands).take(pa.array((maker * 5 + category) * 40 + brand)),
        _pick(rng, words.COLORS, count),
        _pick(rng, words.TYPES, count),
        _ints(rng.integers(1, 51, count)),
        _pick(rng, words.CONTAINERS, count),
    ]


def _lineorder(numbers: Ints, rng: np.random.Generator, scale: float) -> list[object]:
    """The lines of the orders `numbers`."""
    orders = len(numbers)
    lines = rng.integers(1, _MOST_LINES + 1, orders)
    order = np.repeat(np.arange(orders), lines)
    count = len(order)
    line = np.arange(count) - np.repeat(np.cumsum(lines) - lines, lines)
    customers = units("customer", scale)
    customer = rng.integers(1, customers + 1, orders)
    if customers >= 3:
        customer -= customer % 3 == 0  # a third of the customers never orders; 3k becomes 3k - 1
    datekeys = _dates()["d_datekey"].to_numpy()
    order_day = rng.integers(0, _ORDER_DAYS, orders)
    commit_day = order_day[order] + rng.integers(30, 91, count)
    part = rng.integers(1, units("part", scale) + 1, count)
    price = 90_000 + part // 10 % 20_001 + part % 1000 * 100
    quantity, discount, tax = (
        rng.integers(1, 51, count),
        rng.integers(0, 11, count),
        rng.integers(0, 9, count),
    )
    extended = quantity * price
    revenue = extended * (100 - discount) // 100
    total = np.bincount(order, revenue * (100 + tax) // 100).astype(np.int64)
    priority = pa.array(rng.integers(0, len(words.PRIORITIES), orders)[order])
    return [
        (numbers // 8 * 32 + numbers % 8 + 1)[order],  # keys have gaps, as the generator's do
        _ints(line + 1),
        _ints(customer[order]),
        _ints(part),
        _ints(rng.integers(1, units("supplier", scale) + 1, count)),
        datekeys[order_day[order]],
        words.PRIORITIES.take(priority),
        np.zeros(count, np.int32),
        _ints(quantity),
        _ints(extended),
        _ints(total[order]),
        _ints(discount),
        _ints(revenue),
        _ints(price * 6 // 10),
        _ints(tax),
        datekeys[commit_day],
        _pick(rng, words.SHIP_MODES, count),
    ]


_MAKERS = {
    "date1": _date1,
    "customer": _customer,
    "supplier": _supplier,
    "part": _part,
    "lineorder": _lineorder,
}


def main() -> None:
    """Writes the tables as Parquet files."""
    parser = argparse.ArgumentParser(description="write the star schema benchmark's tables as Parquet files")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--parts", type=int, default=1, help="files of lineorder")
    parser.add_argument("--output", type=Path, required=True)
    chosen = parser.parse_args()
    write(chosen.output, chosen.scale, chosen.seed, chosen.parts)


if __name__ == "__main__":
    main()
