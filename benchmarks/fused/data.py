"""Columns of the large tables: seeded, generated on the GPU, and packed as from files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gpudb.engine.gpu.fused.columns.packed_column import DAY, ROW_PADDING, Encoding, PackedColumn, pack_texts
from gpudb.engine.gpu.fused.columns.text_columns import raw_text_from_offsets

SEED = 20_261_122
CHUNK = 1 << 26


@dataclass(frozen=True)
class Case:
    """A query's pipeline: the large table and the columns that it uses, in order, the lookups' arrays, Mapped's tables,
    and the selection of the first rows, if any.
    """

    name: str
    table: str
    columns: tuple[str, ...]
    pipeline: Any
    lookups: tuple[tuple[Any, ...], ...]
    tables: tuple[Any, ...]
    top: Any = None


@dataclass(frozen=True, slots=True)
class Spec:
    """A column: its minimum and maximum, the step between values, their distribution, a dictionary for text, and the
    share of NULLs.
    """

    low: int
    high: int
    unit: int = 1
    draw: str = "even"
    texts: tuple[str, ...] = ()
    nulls: float = 0.0

    @property
    def form(self) -> Encoding:
        """The encoding of its values."""
        if self.draw == "words":
            return Encoding(4, is_text=True)
        top = (self.high - self.base) // self.unit
        width = next(width for width in (1, 2, 3, 4, 8) if top < 256**width - (width == 4))
        return Encoding(width, self.unit, nullable=self.nulls > 0)

    @property
    def base(self) -> int:
        """The value that is stored as 0."""
        return self.low // DAY * DAY if self.unit >= 1_000_000 else self.low


def text(*values: str) -> Spec:
    """A column of some texts."""
    return Spec(0, len(values) - 1, texts=values)


_TIMES = Spec(1_230_768_000_000_000, 1_483_228_799_000_000, 1_000_000)
"""From 2009-01-01 to 2016-12-31, in seconds."""
WORDS = (
    "special", "requests", "deposits", "accounts", "packages", "carefully", "quickly", "final", "ironic", "furiously",
    "the", "of", "above", "among", "pending", "regular", "express", "theodolites", "instructions", "sleep", "haggle",
    "unusual", "bold", "even", "silent", "blithely", "slyly", "foxes", "pinto", "beans", "across", "according",
)  # fmt: skip
"""Words of texts, four to nine in a row."""
TABLES: dict[str, tuple[int, dict[str, Spec]]] = {
    "lineorder": (
        600_000_000,
        {
            "lo_custkey": Spec(1, 3_000_000),
            "lo_partkey": Spec(1, 1_400_000),
            "lo_suppkey": Spec(1, 200_000),
            "lo_orderdate": Spec(19_920_101, 19_980_802, draw="days"),
            "lo_quantity": Spec(1, 50),
            "lo_extendedprice": Spec(90_000, 10_494_950),
            "lo_discount": Spec(0, 10),
            "lo_revenue": Spec(81_000, 10_494_950),
            "lo_supplycost": Spec(54_000, 125_940),
        },
    ),
    "trips": (
        1_113_653_018,
        {
            "cab_type": text("green", "yellow"),
            "passenger_count": Spec(0, 9, draw="few"),
            "pickup_datetime": _TIMES,
            "trip_distance": Spec(0, 10_000, draw="short"),
            "total_amount": Spec(-5_000, 100_000, draw="short"),
        },
    ),
    "rides": (
        1_113_653_018,
        {"passenger_count": Spec(0, 9, draw="few", nulls=0.001), "total_amount": Spec(-30_000, 30_000, draw="short")},
    ),
    "lineitem": (
        600_000_000,
        {
            "l_quantity": Spec(100, 5_000, 100),
            "l_extendedprice": Spec(90_000, 10_494_950),
            "l_discount": Spec(0, 10),
            "l_tax": Spec(0, 8),
            "l_returnflag": text("A", "N", "R"),
            "l_linestatus": text("F", "O"),
            "l_shipdate": Spec(8_037, 10_561),
        },
    ),
    "comments": (150_000_000, {"comment": Spec(0, 0, draw="words")}),
    "t_64g": (
        700_000_000,
        {"id": Spec(1, 700_000_000), "x": Spec(0, 9_999), "y": Spec(0, 9_999), "z": Spec(0, 9_999)},
    ),
    "t0": (
        100_000_000,
        {
            "cat": text(*(f"{a}{b}{c}" for a in "abcdefgh" for b in "abcdefgh" for c in "abcd")),
            "aid": Spec(0, 99_999),
            "bid": Spec(0, 9_999_999),
            "cid": Spec(0, 99_999),
        },
    ),
}


def column(table: str, name: str, xp: Any, rows: int | None = None) -> PackedColumn:
    """Returns a table's column; the same values on any GPU."""
    count, specs = TABLES[table]
    rows = count if rows is None else rows
    spec = specs[name]
    form = spec.form
    if form.is_text:
        return _texts(rows, xp)
    padded = -(-rows // ROW_PADDING) * ROW_PADDING
    data = xp.zeros(padded * form.width, np.uint8)
    valid = xp.zeros(padded // 8, np.uint8) if form.nullable else None
    draws = xp.random.RandomState(SEED + sum(map(ord, table + name)))
    for first in range(0, rows, CHUNK):
        size = min(CHUNK, rows - first)
        stored = _draw(spec, size, draws, xp)
        data[first * form.width : (first + size) * form.width] = _bytes(stored, form.width)
        if valid is not None:
            bits = xp.packbits(draws.random_sample(size) >= spec.nulls, bitorder="little")
            valid[first // 8 : first // 8 + len(bits)] = bits
    return PackedColumn(form, spec.base, rows, data, valid, spec.low, spec.high)


def first_rows(column: PackedColumn, rows: int, xp: Any) -> PackedColumn:
    """The first rows of a column on the GPU (`xp` is CuPy), copied to the host."""
    if column.texts is None:
        valid = None if column.valid is None else column.valid[: -(-rows // 8)].get()
        return replace(column, rows=rows, data=column.data[: rows * column.encoding.width].get(), valid=valid)
    ends = column.texts.offsets(0, rows, xp)[1:]
    held = raw_text_from_offsets(ends.get(), column.texts.data[: int(ends[-1])].get())
    return pack_texts(held, rows)


def _texts(rows: int, xp: Any) -> PackedColumn:
    """Texts of words, in chunks whose letters are gathered at once."""
    draws = xp.random.RandomState(SEED)
    sizes = xp.asarray([len(word) + 1 for word in WORDS])
    letters = xp.zeros((len(WORDS), 16), np.uint8)
    for place, word in enumerate(WORDS):
        letters[place, : len(word) + 1] = xp.asarray(np.frombuffer(f"{word} ".encode(), np.uint8))
    ends, data, before = [], [], 0
    for first in range(0, rows, 1 << 22):
        last = xp.cumsum(draws.randint(4, 10, min(1 << 22, rows - first)))
        words = draws.randint(0, len(WORDS), int(last[-1]))
        stops = xp.cumsum(sizes[words])
        place = xp.arange(int(stops[-1]))
        word = xp.searchsorted(stops, place, side="right")
        data.append(letters[words[word], place - (stops[word] - sizes[words[word]])])
        ends.append(stops[last - 1] + before)
        before += int(stops[-1])
        del place, word, stops, words
    return pack_texts(raw_text_from_offsets(xp.concatenate(ends), xp.concatenate(data), xp), rows, None, xp)


def _draw(spec: Spec, size: int, draws: Any, xp: Any) -> Any:
    top = (spec.high - spec.base) // spec.unit
    match spec.draw:
        case "days":
            days = np.arange(np.datetime64("1992-01-01"), np.datetime64("1998-08-03"))
            numbers = [int(str(day).replace("-", "")) - spec.base for day in days]
            return xp.asarray(numbers, np.uint32)[draws.randint(0, len(numbers), size)]
        case "few":
            # Most rides have one passenger.
            made = draws.random_sample(size)
            return (xp.minimum(made * made * made * 8, top) + (made > 0.01)).astype(np.uint32)
        case "short":
            made = xp.exp(draws.standard_normal(size) * 0.9 + 5.7)
            return xp.clip(made, 0, top).astype(np.uint32)
    return draws.randint(0, top + 1, size).astype(np.uint32)


def _bytes(stored: Any, width: int) -> Any:
    if width == 3:
        return stored.view(np.uint8).reshape(-1, 4)[:, :3].reshape(-1)
    return stored.astype({1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.int64}[width]).view(np.uint8)
