"""Fast encoding of short rows: byte for byte the general encoder's output; other rows are left to that encoder."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from gpudb.server.wire.encode import encode_few_rows
from gpudb.server.wire.fast_rows import encode_narrow_rows
from gpudb.types import INT4, INT8, TEXT, SqlType, numeric

INT2 = SqlType("int2")
VARCHAR = SqlType("varchar")


def column(kind: SqlType, bits: int, draws: np.random.Generator, count: int, nulls: float) -> pa.Array:
    """Values of few and of many digits, including both limits; texts of every length from 0."""
    if kind in {TEXT, VARCHAR}:
        texts = ["".join(draws.choice(list("aé€𝄞 "), draws.integers(0, bits // 8 + 1))) for _ in range(count)]
        return pa.array([text if ok else None for text, ok in zip(texts, draws.random(count) >= nulls)], pa.string())
    end = 1 << bits
    values = [int(x) >> int(draws.integers(0, bits)) for x in draws.integers(-end, end, count)]
    values[: min(count, 4)] = [1 - end, end - 1, 0, -1][:count]
    there = draws.random(count) >= nulls
    if kind.name == "numeric":
        scale = kind.numeric_digits[1]
        made = [Decimal(value).scaleb(-scale) if ok else None for value, ok in zip(values, there)]
        return pa.array(made, pa.decimal128(38, scale)).cast(kind.arrow)
    return pa.array([value if ok else None for value, ok in zip(values, there)], kind.arrow)


def same(batch: pa.RecordBatch, types: tuple[SqlType, ...]) -> bool:
    made = encode_narrow_rows(batch, types, (0,) * len(types))
    return made is not None and bytes(made) == encode_few_rows(batch, types, (0,) * len(types), "UTC", None)


@pytest.mark.parametrize("nulls", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("count", [1, 3, 700, 8192])
@pytest.mark.parametrize("seed", [1, 2])
def test_rows_are_those_of_single_values(seed: int, count: int, nulls: float) -> None:
    draws = np.random.default_rng(seed)
    types = INT2, INT4, INT8, numeric(38, 0), numeric(30, 2), TEXT, numeric(38, 9), VARCHAR
    bits = (15, 31, 32, 32, 31, 24, 32, 32)
    columns = [column(kind, size, draws, count, nulls) for kind, size in zip(types, bits)]
    batch = pa.RecordBatch.from_arrays(columns, names=list("abcdefgh"))
    assert same(batch, types)
    for at, kind in enumerate(types):
        assert same(batch.select([at]), (kind,))
        assert same(batch.select([at]).slice(count // 2), (kind,))


@pytest.mark.parametrize("bits", [33, 47, 62])
def test_large_numbers_are_written_to_their_last_digit(bits: int) -> None:
    draws = np.random.default_rng(bits)
    for kind in (INT8, numeric(38, 0), numeric(38, 2), numeric(38, 18), numeric(38, 25)):
        batch = pa.RecordBatch.from_arrays([column(kind, bits, draws, 700, 0.1)], names=["a"])
        assert same(batch, (kind,))
    tens = [sign * (10**n + less) for n in range(19) for sign in (-1, 1) for less in (-1, 0, 1)]
    values = [*tens, 2**63 - 1, -(2**63), 0, None]
    assert same(pa.record_batch([pa.array(values, pa.int64())], ["a"]), (INT8,))
    for kind in (numeric(38, 0), numeric(38, 4), numeric(38, 22)):
        scale = kind.numeric_digits[1]
        made = [None if value is None else Decimal(value).scaleb(-scale) for value in values if value != -(2**63)]
        assert same(pa.record_batch([pa.array(made, kind.arrow)], ["a"]), (kind,))


@pytest.mark.parametrize("texts", [[""] * 3, [None] * 3, ["a", "", None], ["", "é" * 8, "b"]])
def test_texts_that_are_empty_or_last(texts: list[str | None]) -> None:
    batch = pa.record_batch([pa.array(["before", *texts, "behind"], pa.string())], ["a"])
    assert same(batch, (TEXT,))
    assert same(batch.slice(1, 3), (VARCHAR,))
    assert same(batch.slice(3), (VARCHAR,))


@pytest.mark.parametrize("nulls", [0.0, 0.3])
@pytest.mark.parametrize("digits", range(1, 19))
def test_values_of_one_length(digits: int, nulls: float) -> None:
    draws = np.random.default_rng(digits)
    values = draws.integers(10 ** (digits - 1), 10**digits, 200)
    values[:2] = 10 ** (digits - 1), 10**digits - 1
    there = draws.random(200) >= nulls
    for sign in (1, -1):
        numbers = pa.array([sign * int(value) if ok else None for value, ok in zip(values, there)], pa.int64())
        texts = pa.array([str(value)[:16] if ok else None for value, ok in zip(values, there)])
        batch = pa.RecordBatch.from_arrays([numbers, texts], names=["a", "b"])
        assert same(batch, (INT8, TEXT))
        for scale in (1, 4, 6, 8):
            made = [None if value is None else Decimal(value).scaleb(-scale) for value in numbers.to_pylist()]
            kind = numeric(38, scale)
            assert same(pa.record_batch([pa.array(made, kind.arrow)], ["a"]), (kind,))


def test_a_damaged_text_is_left_to_the_usual_way() -> None:
    damaged = pa.array([b"a", b"\xfe", b"ccc"] * 50, pa.binary())
    batch = pa.record_batch([pa.StringArray.from_buffers(150, *damaged.buffers()[1:])], ["a"])
    assert encode_narrow_rows(batch, (TEXT,), (0,)) is None
    assert same(batch.slice(2, 1), (TEXT,))


def test_letters_under_nulls_are_not_sent() -> None:
    texts = pa.array(["aa", "bbbb", "c"], pa.string())
    mask = pa.py_buffer(bytes([0b101]))
    batch = pa.record_batch([pa.StringArray.from_buffers(3, *texts.buffers()[1:], mask, 1)], ["a"])
    assert batch.column(0).to_pylist() == ["aa", None, "c"]
    assert same(batch, (TEXT,))


def test_what_is_left_to_the_usual_way() -> None:
    numbers = pa.array(range(200), pa.int32())

    def made(values: pa.Array, kind: SqlType, form: int = 0) -> memoryview | None:
        batch = pa.RecordBatch.from_arrays([numbers, values], names=["a", "b"])
        return encode_narrow_rows(batch, (INT4, kind), (0, form))

    assert made(numbers, INT4) is not None
    assert made(numbers, INT4, 1) is None
    assert encode_narrow_rows(pa.record_batch([pa.array(range(8193), pa.int32())], ["a"]), (INT4,), (0,)) is None
    assert made(pa.array([n / 2 for n in range(200)]), SqlType("float8")) is None
    assert made(pa.array(["a"] * 199 + ["é" * 9]), TEXT) is None
    assert made(pa.array(["a"] * 199 + ["b" * 200]), TEXT) is None
    assert made(pa.array(["a", "b"] * 100, pa.large_string()), TEXT) is None
    assert made(pa.array([Decimal(2**64)] * 200, pa.decimal128(38, 0)), numeric(38, 0)) is None
    assert encode_narrow_rows(pa.RecordBatch.from_arrays([], names=[]), (), ()) is None
