"""Lazy frames on a GPU: Polars' results, also for types that libcudf lacks."""

from __future__ import annotations

import datetime as dt
import random
import weakref
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from gpudb.engine.gpu.backend.base import SortOrder
from gpudb.engine.gpu.backend.exact_calls import CoMomentCall, DeviationCall, QuotientCall
from gpudb.engine.gpu.backend.host import HostBackend, HostFrame
from gpudb.engine.gpu.fused.translate.typed_values import Dictionary
from gpudb.engine.gpu.limits import HOST_ROWS
from gpudb.engine.gpu.lower.relations.joins import key_columns
from gpudb.errors import GpudbError
from tests.support.exact_numbers import pick

pytestmark = pytest.mark.gpu

NAN = float("nan")
BIG = 10**37 + 12345
ROWS = pl.DataFrame(
    {
        "i": pl.Series([3, None, -7, 3, 2**40, 0], dtype=pl.Int64),
        "w": pl.Series([BIG, -BIG, None, 5, 0, -1], dtype=pl.Int128),
        "x": pl.Series([1.5, NAN, None, -0.0, float("inf"), NAN], dtype=pl.Float64),
        "y": pl.Series([NAN, NAN, 1.0, 0.0, None, 2.0], dtype=pl.Float64),
        "t": pl.Series(["a special x requests", "100%_y", None, "ß\nab", "", "a\\b"], dtype=pl.String),
    }
)
X, Y, W, T = pl.col("x"), pl.col("y"), pl.col("w"), pl.col("t")
SELECTED = {
    "wide_sum": (W + 1, (W * 3).alias("u"), (W - pl.col("i").cast(pl.Int128)).alias("v")),
    "wide_quotient": (W.abs() // pl.lit(7).cast(pl.Int128),),
    "wide_order": (W > 3, (pl.lit(10**37 + 12345, pl.Int128) == W).alias("e"), W.is_null().alias("n")),
    "wide_casts": (W.cast(pl.Float64), pl.when(W.abs() < 10).then(W).otherwise(None).cast(pl.Int64).alias("s")),
    "equal": ((X == Y).alias("a"), (X != Y).alias("b"), (X == 1.5).alias("c")),
    "less": ((X < Y).alias("a"), (X <= Y).alias("b"), (X > Y).alias("c"), (X >= Y).alias("d"), (X < 2.0).alias("e")),
    "like": (
        T.str.contains("(?s)^.*special.*requests.*$").alias("a"),
        T.str.contains(r"(?s)^100%_.$").alias("b"),
        T.str.contains(r"(?s)^..ab$").alias("c"),
        T.str.contains(r"(?s)^a\\b$").alias("d"),
    ),
    "products": ((X * 2.0).alias("a"), (X * Y).alias("b"), (X / 2.0).alias("c")),
    "dates": ((pl.col("i") % 1000).cast(pl.Int32).cast(pl.Date).alias("a"), pl.lit(-3).cast(pl.Date).alias("b")),
    "places": (
        T.gather(pl.Series([5, None, 0, 1, None, 2])),
        W.gather(pl.Series([None] * 6, dtype=pl.Int64)).alias("n"),
        pl.int_range(pl.len(), dtype=pl.Int64).alias("p"),
    ),
    "running": (W.cum_sum(), pl.col("i").fill_null(0).cum_max(), X.fill_null(0.0).cum_sum().over("i").alias("f")),
    "distinct": (X.drop_nulls().n_unique(), W.drop_nulls().n_unique(), T.drop_nulls().n_unique()),
    "shared": (pl.len().alias("n"), W.max(), W.min().alias("m"), pl.col("i").sum()),
}


@pytest.mark.parametrize("name", SELECTED)
def test_expressions(frames: Any, name: str) -> None:
    lazy = frames.from_host(ROWS).lazy.select(SELECTED[name])
    assert_frame_equal(frames.compute(lazy).to_polars(), ROWS.lazy().select(SELECTED[name]).collect())
    assert frames.take_host_steps() == ()


GROUPED = {
    "lists": (pl.col("i").implode().alias("a"), T.implode().alias("b")),
    "sums": (W.sum().alias("a"), X.sum().alias("b"), pl.col("i").cast(pl.Int8).sum().alias("c"), pl.len().alias("d")),
    "extremes": (pl.col("i").max().alias("a"), X.is_infinite().cast(pl.Int8).max().alias("b"), T.min().alias("c")),
    "counts": (pl.col("i").count().alias("a"), X.mean().alias("b"), W.n_unique().alias("c")),
}


@pytest.mark.parametrize("name", GROUPED)
@pytest.mark.parametrize("keys", [("t",), ("i", "t"), ("w",)])
def test_groups_of_no_rows_have_the_types_of_others(frames: Any, name: str, keys: tuple[str, ...]) -> None:
    few = ROWS.clear().with_columns(ROWS["w"].clear())
    wanted = few.lazy().group_by(*keys).agg(*GROUPED[name]).collect().schema
    lazy = frames.from_host(few).lazy.group_by(*keys).agg(*GROUPED[name])
    held = frames.compute(lazy)
    assert held.rows == 0
    assert held.to_polars().schema == wanted
    assert held.lazy.collect_schema() == wanted
    assert frames.compute(pl.concat([held.lazy, frames.from_host(wanted.to_frame()).lazy])).to_polars().schema == wanted


def test_no_rows_have_no_distinct_values(frames: Any) -> None:
    distinct = T.drop_nulls().n_unique().cast(pl.Int64).fill_null(0)
    for rows in (ROWS.clear(), ROWS.filter(pl.col("t").is_null())):
        assert frames.compute(frames.from_host(rows).lazy.select(distinct)).to_polars()["t"].to_list() == [0]


def test_columns_of_one_worker_go_beside_those_of_another(frames: Any) -> None:
    lists = pl.DataFrame({"k": ["a", "b"], "l": [[3, 1, None], [2]]}, {"k": pl.String, "l": pl.List(pl.Int32)})
    plans = [
        lambda lazy: (
            lazy.explode("l", empty_as_null=True)
            .group_by("k")
            .agg(pl.col("l").max(), pl.col("l").implode().alias("m"))
            .sort("k")
        ),
        lambda lazy: lazy.explode("l", empty_as_null=True).with_columns(pl.col("l").cast(pl.Int64).alias("n")),
        lambda lazy: lazy.select((pl.col("k") == "a").cast(pl.Int8).max()),
    ]
    for plan in plans:
        wanted = plan(lists.lazy()).collect()
        held = frames.compute(plan(frames.from_host(lists).lazy))
        assert frames.take_host_steps() == ()
        assert held.lazy.collect_schema() == held.to_polars().schema == wanted.schema
        both = pl.concat([held.lazy, frames.from_host(held.to_polars()).lazy, HostFrame(held.to_polars()).lazy])
        assert frames.compute(both).rows == 3 * wanted.height


SLICED = {
    "tests": (X.is_nan().alias("a"), X.is_not_nan().alias("b"), X.is_finite().alias("c"), X.is_infinite().alias("d")),
    "equal": ((X == Y).alias("a"), (X != Y).alias("b"), (~(X > Y)).alias("c"), (X.is_nan() & (Y > 0.0)).alias("d")),
    "texts": (T.str.head(0).alias("a"), T.str.tail(0).alias("b"), T.str.head(2).alias("c")),
    "extremes": (X.max().alias("a"), X.min().alias("b"), X.fill_nan(None).max().alias("c")),
}


@pytest.fixture
def _cut_out(monkeypatch: pytest.MonkeyPatch, frames: Any) -> None:
    """A slice of a frame shares its memory."""
    from gpudb.engine.gpu.cudf.columns import slicing

    monkeypatch.setattr(slicing, "SMALL", -1)


@pytest.mark.usefixtures("_cut_out")
@pytest.mark.parametrize("name", SLICED)
@pytest.mark.parametrize("first", [1, 5, 11])
def test_nulls_of_rows_cut_out_of_others_are_theirs(frames: Any, name: str, first: int) -> None:
    rows = pl.concat([ROWS, ROWS[1:], ROWS.reverse()])
    held = frames.compute(frames.from_host(rows).lazy.slice(first, 5))
    lazy = held.lazy.select(SLICED[name])
    assert_frame_equal(frames.compute(lazy).to_polars(), rows.slice(first, 5).lazy().select(SLICED[name]).collect())
    assert frames.take_host_steps() == ()


@pytest.mark.usefixtures("_cut_out")
def test_floats_cut_out_of_others_are_joined(frames: Any) -> None:
    rows = pl.concat([ROWS[1:], ROWS, ROWS.reverse()]).select("x", n=pl.int_range(pl.len(), dtype=pl.Int64))
    given = frames.compute(frames.from_host(rows).lazy.slice(3, 9)).lazy, rows.lazy().slice(3, 9)
    on = key_columns([X], [pl.Float64()], "k")
    keyed = [lazy.with_columns(on) for lazy in given]
    joined = [each.join(each, on=["k0", "k1"]).select("n", "n_right").sort("n", "n_right") for each in keyed]
    assert_frame_equal(frames.compute(joined[0]).to_polars(), joined[1].collect())
    assert frames.take_host_steps() == ()


def test_rows_cut_out_of_others_keep_none_of_them_and_tell_their_own_bytes(frames: Any) -> None:
    rows = pl.DataFrame({"v": range(100_000)}).with_columns(
        t=pl.when(pl.col("v") % 3 > 0).then(pl.col("v").cast(pl.String)),
        w=pl.col("v").cast(pl.Int128),
        f=pl.col("v") % 2 == 0,
        l=pl.concat_list("v", "v"),
    )
    whole = frames.from_host(rows)
    first = frames.compute(whole.lazy.sort("v", descending=True).head(10))
    assert_frame_equal(first.to_polars(), rows[::-1].head(10))
    assert first.bytes < 4096
    assert sum(each.device_buffer_size() for each in first.table.table.columns()) < 4096
    parts = frames.partition_by_hash(whole.lazy, [pl.col("v")], 4)
    assert 0.8 * whole.bytes < sum(each.bytes for each in parts) < 1.2 * whole.bytes
    assert all(each.bytes < 0.4 * whole.bytes for each in parts)


def test_distinct_rows_are_grouped_whatever_order_they_were_in(frames: Any) -> None:
    rows = pl.DataFrame({"k": [n // 20 for n in range(4000)], "v": [n % 20 // 2 for n in range(4000)]})
    ordered = frames.compute(frames.from_host(rows.sample(fraction=1.0, shuffle=True, seed=7)).lazy.sort("k"))
    counted = frames.compute(ordered.lazy.unique()).lazy.group_by("k").agg(pl.len())
    wanted = rows.unique().group_by("k").agg(pl.len()).sort("k")
    assert_frame_equal(frames.compute(counted.sort("k")).to_polars(), wanted)
    assert frames.take_host_steps() == ()


def test_rows_come_back_as_they_went(frames: Any) -> None:
    assert_frame_equal(frames.from_host(ROWS).to_polars(), ROWS)
    assert_frame_equal(frames.from_host(ROWS.clear()).to_polars(), ROWS.clear())


def test_bytes_compare_group_and_sort(frames: Any) -> None:
    rows = pl.DataFrame({"b": [b"\xff\x00", b"", None, b"\x00a", b"\xff", b"\xff\x00", b"abc"], "v": range(7)})
    given = frames.from_host(rows)
    assert_frame_equal(given.to_polars(), rows)
    for chosen in (pl.col("b") >= pl.lit(b"\xff"), pl.col("b") != pl.lit(b"")):
        assert_frame_equal(frames.compute(given.lazy.filter(chosen)).to_polars(), rows.filter(chosen))
    for lazy, plain in ((given.lazy, rows.lazy()),):
        grouped = [each.group_by("b").agg(pl.col("v").sum(), pl.len()).sort("b") for each in (lazy, plain)]
        assert_frame_equal(frames.compute(grouped[0]).to_polars(), grouped[1].collect())
        joined = [each.join(each, on="b").sort("v", "v_right") for each in (lazy, plain)]
        assert_frame_equal(frames.compute(joined[0]).to_polars(), joined[1].collect())
    assert frames.take_host_steps() == ()


def test_moments_by_months_and_weeks(frames: Any) -> None:
    days = pl.Series([-20_000, 0, 59, 11_000, 18_321, None], dtype=pl.Int32).cast(pl.Date)
    rows = pl.DataFrame({"t": days.cast(pl.Datetime("us")), "d": days})
    made = [pl.col("t").dt.offset_by("-11mo"), pl.col("d").dt.ordinal_day(), pl.col("d").dt.weekday().alias("w")]
    assert_frame_equal(frames.compute(frames.from_host(rows).lazy.select(made)).to_polars(), rows.select(made))
    assert frames.take_host_steps() == ()


def test_frames_of_the_host_take_part(frames: Any) -> None:
    lazy = pl.concat([frames.from_host(ROWS).lazy, ROWS.lazy(), pl.LazyFrame(schema=ROWS.schema)])
    assert_frame_equal(frames.compute(lazy).to_polars(), pl.concat([ROWS, ROWS]))


def test_a_limit_on_a_source_is_kept(frames: Any) -> None:
    held = frames.from_host(ROWS)
    assert_frame_equal(frames.compute(held.lazy.head(2)).to_polars(), ROWS.head(2))
    assert frames.compute(held.lazy.slice(4, 10)).rows == 2


def test_groups_of_wide_keys_and_sums(frames: Any) -> None:
    lazy = frames.from_host(ROWS).lazy.group_by("w").agg(W.alias("v").sum(), pl.col("i").sum()).sort("w")
    wanted = ROWS.lazy().group_by("w").agg(W.alias("v").sum(), pl.col("i").sum()).sort("w").collect()
    assert_frame_equal(frames.compute(lazy).to_polars(), wanted)


def test_what_is_refused_runs_on_the_host_and_is_told(frames: Any) -> None:
    lazy = frames.from_host(ROWS).lazy.select(W.cast(pl.String))
    assert_frame_equal(frames.compute(lazy).to_polars(), ROWS.select(W.cast(pl.String)))
    assert any("STRING" in reason for reason in frames.take_host_steps())


def test_parts_hold_every_row_once_and_equal_keys_together(frames: Any) -> None:
    rows = pl.DataFrame({"k": [n % 97 for n in range(5000)], "v": range(5000)})
    parts = [part.to_polars() for part in frames.partition_by_hash(frames.from_host(rows).lazy, [pl.col("k")], 3)]
    assert_frame_equal(pl.concat(parts).sort("v"), rows)
    assert sum(part["k"].n_unique() for part in parts) == 97
    assert all(part.height for part in parts)


@pytest.mark.parametrize("away", [False, True])
def test_rows_go_to_their_places(frames: Any, away: bool) -> None:
    rows = pl.DataFrame({"v": range(5000), "w": [None if n % 7 == 0 else f"w{n}" for n in range(5000)]})
    lazy = frames.from_host(rows.with_columns(place=pl.col("v") % 3 * 2)).lazy
    parts = [part.to_polars() for part in frames.partition_by_number(lazy, "place", 6, away=away)]
    assert [part.height for part in parts] == [1667, 0, 1667, 0, 1666, 0]
    assert_frame_equal(pl.concat(parts).sort("v"), rows)
    assert all((part["v"] % 3 * 2 == place).all() for place, part in enumerate(parts))
    nothing = frames.partition_by_number(lazy.head(0), "place", 2, away=away)
    assert [part.rows for part in nothing] == [0, 0]
    keyed = [part.to_polars() for part in frames.partition_by_hash(lazy.drop("place"), [pl.col("v")], 5, away=away)]
    assert_frame_equal(pl.concat(keyed).sort("v"), rows)


@pytest.mark.parametrize("spread, away", [(False, False), (False, True), (True, True)])
def test_rows_go_to_their_ranges(frames: Any, spread: bool, away: bool) -> None:
    """As on the host: several keys, with NULLs and NaN among the range ends, and equal ends."""
    rows = pl.DataFrame(
        {
            "v": range(6000),
            "k0": [None if n % 5 == 0 else float("nan") if n % 5 == 1 else -float(n % 5) for n in range(6000)],
            "k1": pl.Series([None if n % 11 == 0 else n * 7 % 13 for n in range(6000)], dtype=pl.Int128),
            "k2": [f"t{n % 3}" for n in range(6000)],
        }
    )
    order = [SortOrder(True, True), SortOrder(False, False), SortOrder(True, False)]
    down, last = [key.descending for key in order], [not key.nulls_first for key in order]
    names = ["k0", "k1", "k2"]
    ends = rows.select(names).gather_every(50).sort(names, descending=down, nulls_last=last).gather_every(8)
    ends = pl.concat([ends, ends[:3]]).sort(names, descending=down, nulls_last=last)
    count = ends.height + 1
    given = frames.partition_by_range(frames.from_host(rows).lazy, ends, order, count, spread=spread, away=away)
    wanted = HostBackend().partition_by_range(rows.lazy(), ends, order, count, spread=spread, away=away)
    for one, other in zip(given, wanted, strict=True):
        assert_frame_equal(one.to_polars().sort("v"), other.to_polars().sort("v"))
    assert sum(part.rows for part in given) == rows.height
    nothing = frames.partition_by_range(
        frames.from_host(rows).lazy.head(0), ends, order, count, spread=spread, away=away
    )
    assert {part.rows for part in nothing} == {0}


@pytest.mark.parametrize("rows", [6, 5000])
def test_exact_functions(frames: Any, rows: int) -> None:
    """Quotients, deviations and co-moments on the GPU equal those of NumPy; NULLs and divisors of 0 have none."""
    draw = random.Random(rows)
    columns = {
        "a": [None if draw.random() < 0.1 else pick(draw, 100) for _ in range(rows)],
        # Quotients of larger divisors show more decimals than are carried.
        "b": [None if draw.random() < 0.1 else pick(draw, 6) for _ in range(rows)],
        "c": [None if draw.random() < 0.1 else pick(draw, 16) for _ in range(rows)],
        "t": [pick(draw, 40) for _ in range(rows)],
        "q": [2**90 + abs(pick(draw, 60)) for _ in range(rows)],
        "h": [abs(pick(draw, 20)) for _ in range(rows)],
    }
    parts = pl.DataFrame(
        {name: pl.Series(values, dtype=pl.Int128) for name, values in columns.items()}
        | {
            "n": pl.Series([draw.choice((0, 1, 2, 50)) for _ in range(rows)], dtype=pl.Int64),
            "s": pl.Series([draw.randint(0, 20) for _ in range(rows)], dtype=pl.Int32),
        }
    )
    calls = [
        QuotientCall("x", "t", 2, "b", 0, "s", 20),
        QuotientCall("v", "t", 2, "c", 0, "s", 26),
        DeviationCall("y", "n", "t", "q", None, 2, sample=True, root=True, carried=20),
        DeviationCall("z", "n", "t", "q", "h", 6, sample=False, root=False, carried=20),
        CoMomentCall("w", "n", "t", "t", "q"),
    ]
    made = frames.compute_exact(frames.from_host(parts).lazy, calls)
    assert_frame_equal(made.to_polars(), HostBackend().compute_exact(parts.lazy(), calls).to_polars())
    assert frames.take_host_steps() == ()
    with pytest.raises(GpudbError) as error:
        frames.compute_exact(frames.from_host(parts).lazy, [QuotientCall("x", "q", 0, "t", 20, "s", 20)])
    assert error.value.sqlstate == "22003"


def test_repeated_rows(frames: Any) -> None:
    rows = ROWS.with_columns(pl.Series("times", [2, 0, 1, 3, 0, 1], dtype=pl.Int64))
    made = frames.repeat_rows(frames.from_host(rows), "times", "number")
    assert_frame_equal(made.to_polars(), HostBackend().repeat_rows(HostFrame(rows), "times", "number").to_polars())
    assert made.to_polars()["number"].to_list() == [0, 1, 0, 0, 1, 2, 0]
    assert frames.repeat_rows(frames.from_host(rows.clear()), "times", "number").rows == 0


def test_columns_beside(frames: Any) -> None:
    more = pl.DataFrame({"q": pl.Series(range(6), dtype=pl.Int128)})
    held = frames.from_host(ROWS).add_columns(more)
    assert_frame_equal(held.to_polars(), ROWS.with_columns(more["q"]))
    assert_frame_equal(held.add_columns(frames.from_host(more)).to_polars(), held.to_polars())
    assert held.max_integer("i") == 2**40
    assert held.null_count("w") == 1


@pytest.mark.parametrize(
    ("values", "narrow"),
    [
        ([2**63 - 1, -(2**63), None, 0], True),
        ([2**63], False),
        ([5, None, -(2**63) - 1], False),
        ([2**100, 1], False),
        ([None, None], True),
        ([], True),
    ],
)
def test_integers_that_64_bits_hold(frames: Any, values: list[int | None], narrow: bool) -> None:
    rows = pl.DataFrame({"a": pl.Series(values, dtype=pl.Int128)}).with_columns(pl.int_range(pl.len()).alias("n"))
    for held in (frames.from_host(rows), HostFrame(rows)):
        assert held.fits_int64("a") == narrow
        assert held.fits_int64("n")
        assert held.min_integer("n") == (0 if values else None)


ROWS_OF_KERNELS = 3 * HOST_ROWS
"""Fewer rows are computed on the host."""


def _many() -> pl.DataFrame:
    numbers = pl.int_range(ROWS_OF_KERNELS, eager=True)
    some = pl.col("i") % 7 > 0
    texts = "text " + (numbers % 300).cast(pl.String)
    frame = pl.DataFrame({"i": numbers, "w": numbers.cast(pl.Int128), "t": texts})
    nulls = [pl.when(some).then(pl.col(name)).otherwise(None).alias(f"{name}n") for name in ("i", "w", "t")]
    return frame.with_columns(nulls).with_columns(pl.lit(None, pl.String).alias("none"))


@pytest.mark.parametrize("first", [0, 5, HOST_ROWS + 1])
def test_columns_lie_where_their_rows_begin(frames: Any, first: int) -> None:
    """Columns of a slice are views of the frame's memory with an offset."""
    rows = _many().slice(first, ROWS_OF_KERNELS - first - 3)
    held = frames.compute(frames.from_host(_many()).lazy.slice(first, rows.height))
    for name in ("i", "w", "in", "wn"):
        values, valid = held.device_column(name)
        there = rows[name].is_not_null().to_numpy()
        assert (valid is None) == bool(there.all())
        assert (values.get()[there] == rows[name].drop_nulls().cast(pl.Int64).to_numpy()).all()
        assert valid is None or (valid.get() == there).all()


@pytest.mark.parametrize("name", ["t", "tn", "none"])
def test_texts_are_coded_where_they_lie(frames: Any, name: str) -> None:
    rows = _many()
    held = frames.compute(frames.from_host(rows).lazy.slice(9, rows.height - 9))
    values, valid, texts = held.dictionary_column(name)
    assert texts.is_unique().all()
    assert texts.null_count() == 0
    there = None if valid is None else valid.get()
    wanted = rows[name].slice(9)
    assert held.count_distinct(name) == wanted.n_unique()
    assert Dictionary(texts).decode(values.get(), there).to_list() == wanted.to_list()
    assert frames.compute(frames.from_host(rows).lazy.head(10)).dictionary_column(name) is None


def _sorted_rows(rows: int) -> pl.DataFrame:
    draw = random.Random(rows)

    def column(values: list[Any], dtype: pl.DataType, nulls: float) -> pl.Series:
        return pl.Series([None if draw.random() < nulls else draw.choice(values) for _ in range(rows)], dtype=dtype)

    return pl.DataFrame(
        {
            "i": column([-3, 0, 7, 2**31 - 1], pl.Int32(), 0.2),
            "s": column([-128, 5, 127], pl.Int8(), 0.0),
            "l": column([-(2**63), -1, 0, 2**63 - 1], pl.Int64(), 0.1),
            "x": column([0.0, -0.0, NAN, float("inf"), float("-inf"), -1.5, 1e-300], pl.Float64(), 0.2),
            "f": column([0.5, NAN, -2.0], pl.Float32(), 0.0),
            "b": column([True, False], pl.Boolean(), 0.3),
            "d": column([dt.date(1969, 1, 1), dt.date(2024, 2, 29)], pl.Date(), 0.1),
            "t": column(["", "a", *(f"https://é.example/{number}" for number in range(400))], pl.String(), 0.001),
            "r": pl.Series(range(rows), dtype=pl.Int64),
        }
    )


@pytest.mark.parametrize("limit", [None, 7])
@pytest.mark.parametrize(
    "keys", [("i", "s"), ("x",), ("l", "x", "b"), ("f", "d", "i"), ("b", "l"), ("s", "x", "f"), ("t",), ("t", "i")]
)
def test_radix_sorts(frames: Any, keys: tuple[str, ...], limit: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sorts by several keys are those of Polars: NULLs, NaN and zeros, both directions, and equal rows in order."""
    from gpudb.engine.gpu.cudf.algorithms import radix_sort

    monkeypatch.setattr(radix_sort, "MIN_ROWS", 1)
    rows = _sorted_rows(3000)
    held = frames.from_host(rows)
    for turn in range(4):
        options = {
            "descending": [(turn + place) % 2 > 0 for place in range(len(keys))],
            "nulls_last": [(turn // 2 + place) % 2 > 0 for place in range(len(keys))],
            "maintain_order": True,
        }
        made = held.lazy.sort(list(keys), **options)
        wanted = rows.sort(list(keys), **options)
        if limit is not None:
            made, wanted = made.slice(2, limit), wanted.slice(2, limit)
        assert frames.compute(made).to_polars()["r"].to_list() == wanted["r"].to_list()
    assert frames.take_host_steps() == ()


def test_few_rows_are_computed_on_the_host(frames: Any) -> None:
    """Few rows stay on the host from the first step over them alone on; beside many rows they go to the GPU."""
    from gpudb.engine.gpu.cudf.backend import CudfBackend
    from gpudb.engine.gpu.cudf.columns.frame import CudfFrame

    adaptive = CudfBackend(None, few_rows=100)
    many = pl.DataFrame({"k": pl.Series(range(5000), dtype=pl.Int64), "w": pl.Series(range(5000), dtype=pl.Int128)})
    held = adaptive.from_host(many)
    sums = adaptive.compute(held.lazy.group_by(pl.col("k") % 7).agg(pl.col("w").sum(), pl.len().alias("n")))
    assert isinstance(sums, CudfFrame)
    quotients = adaptive.compute_exact(
        sums.lazy.with_columns(pl.col("n").cast(pl.Int128), s=pl.lit(0, pl.Int32)),
        [QuotientCall("q", "w", 0, "n", 0, "s", 20)],
    )
    assert isinstance(quotients, HostFrame)
    few = sums.add_columns(quotients)
    assert few.rows == 7
    sorted_few = adaptive.compute(few.lazy.sort("k"))
    assert isinstance(sorted_few, HostFrame)
    wanted = HostBackend().compute_exact(
        sums.to_polars().lazy().sort("k").with_columns(pl.col("n").cast(pl.Int128), s=pl.lit(0, pl.Int32)),
        [QuotientCall("q", "w", 0, "n", 0, "s", 20)],
    )
    assert_frame_equal(sorted_few.to_polars().select("q", "qs"), wanted.to_polars())
    joined = adaptive.compute(held.lazy.join(sorted_few.lazy.select("k", "n"), on="k"))
    assert isinstance(joined, CudfFrame)
    assert_frame_equal(joined.to_polars().sort("k").select("k"), pl.DataFrame({"k": list(range(7))}))
    crossed = sorted_few.lazy.join(adaptive.from_host(many.head(90)).lazy, how="cross", suffix="_r")
    assert isinstance(adaptive.compute(crossed), CudfFrame)
    parts = adaptive.partition_by_hash(sorted_few.lazy, [pl.col("k")], 3)
    assert sum(part.rows for part in parts) == 7
    assert adaptive.take_host_steps() == ()


def test_frames_are_freed(frames: Any) -> None:
    """A frame whose rows were read by lazy frames is freed with its last reference."""
    held = frames.from_host(ROWS)
    frames.compute(held.lazy.select("i"))
    held.lazy.select("i").collect()
    known = weakref.ref(held)
    del held
    assert known() is None
