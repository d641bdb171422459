"""The wide form of numeric: keys in the type's order, columns of it, and NaN as PostgreSQL compares it."""

from __future__ import annotations

import pickle
import random
from decimal import Decimal
from itertools import pairwise

import pyarrow as pa
import pytest

from gpudb.errors import NumericOutOfRange
from gpudb.types import NUMERIC, WIDE_NUMERIC, numeric
from gpudb.values.numbers import parse_numeric, parse_wide_numeric
from gpudb.values.wide_arithmetic import absolute, negate, power, round_places
from gpudb.values.wide_conversion import narrow_column, widen_column
from gpudb.values.wide_numerics import (
    INFINITY,
    NAN,
    NEGATIVE_INFINITY,
    decode_column,
    decode_numeric,
    encode_column,
    encode_numeric,
    format_column,
    normalize,
)

_KNOWN = [
    *(
        f"{sign}{text}"
        for sign in ("", "-")
        for text in ("1", "1.50", "1.5", "9.99", "10", "99", "100", "1e50", "1e-50")
    ),
    *("0", "0.00", "1e131071", "-1e131071", "1.0000001", "-1.0000001", "12345678901234567890123456789012345678901.5"),
]


def _draw(count: int) -> list[Decimal]:
    chosen = random.Random(5)
    texts = [
        chosen.choice("-+")
        + "".join(chosen.choice("0019") for _ in range(chosen.randint(1, 60)))
        + f"E{-chosen.randint(0, 70)}"
        for _ in range(count)
    ]
    return [normalize(Decimal(text)) for text in (*texts, *_KNOWN)]


def test_a_key_and_a_scale_are_a_value() -> None:
    for value in _draw(500):
        assert str(decode_numeric(*encode_numeric(value))) == str(value)
    for value in (NAN, INFINITY, NEGATIVE_INFINITY):
        assert decode_numeric(*encode_numeric(value)) is value


def test_keys_sort_as_values_do_and_are_equal_for_equal_ones() -> None:
    ordered = sorted(_draw(500))
    keys = [encode_numeric(value)[0] for value in (NEGATIVE_INFINITY, *ordered, INFINITY, NAN)]
    assert keys == sorted(keys)
    for (one, other), (key, next_key) in zip(pairwise(ordered), pairwise(keys[1:-2]), strict=True):
        assert (one == other) == (key == next_key)


def test_nan_is_equal_to_itself_and_above_all() -> None:
    assert pickle.loads(pickle.dumps(NAN)) == NAN
    assert {NAN: 1}[normalize(Decimal("NaN"))] == 1
    assert sorted([NAN, Decimal(1), INFINITY]) == [Decimal(1), INFINITY, NAN]
    assert INFINITY < NAN
    assert not INFINITY >= NAN
    assert NAN >= NAN
    assert Decimal(1) != NAN


def test_columns_change_their_form() -> None:
    values = [Decimal("1.50"), None, Decimal("-3"), Decimal("0.00")]
    column = encode_column(values)
    assert format_column(column).to_pylist() == ["1.50", None, "-3", "0.00"]
    narrow = narrow_column(column, NUMERIC)
    assert narrow is not None
    assert narrow.type == NUMERIC.arrow
    assert decode_column(widen_column(narrow, NUMERIC)) == values
    assert narrow_column(encode_column([*values, NAN]), NUMERIC) is None
    assert narrow_column(encode_column([Decimal("1e-21")]), NUMERIC) is None
    lists = pa.ListArray.from_arrays([0, 2, 4], column)
    assert narrow_column(widen_column(narrow_column(lists, NUMERIC.array), NUMERIC.array), NUMERIC.array) is not None


@pytest.mark.parametrize(
    ("type_", "text", "shown"),
    [
        (WIDE_NUMERIC, " NaN ", "NaN"),
        (WIDE_NUMERIC, "+Infinity", "Infinity"),
        (WIDE_NUMERIC, "1e40", "1" + "0" * 40),
        (numeric(60, 2), "1.005", "1.01"),
        (numeric(5, -2), "12350", "12400"),
        (numeric(3, 5), "0.001234", "0.00123"),
    ],
)
def test_texts_are_read(type_: object, text: str, shown: str) -> None:
    value = parse_numeric(type_, text)  # type: ignore[arg-type]
    assert format_column(encode_column([value])).to_pylist() == [shown]


@pytest.mark.parametrize("text", ["1e131072", "1e-16384", "1" + "0" * 131_072], ids=["large", "fine", "long"])
def test_what_postgresql_does_not_hold_is_refused(text: str) -> None:
    with pytest.raises(NumericOutOfRange, match="value overflows numeric format"):
        parse_wide_numeric(WIDE_NUMERIC, text)


def test_no_digit_is_lost_to_pythons_context() -> None:
    value = Decimal("-12345678901234567890123456789012345678901234567890.5")
    assert str(negate(value)) == "12345678901234567890123456789012345678901234567890.5"
    assert str(absolute(value)) == str(negate(value))
    assert str(round_places(value, 0)) == "-12345678901234567890123456789012345678901234567891"
    assert power(Decimal(-3), Decimal(201)) == -(3**201)
