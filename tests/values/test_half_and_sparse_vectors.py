"""Vectors of half precision and sparse vectors: text and binary forms, and bytes that compare as the vectors do."""

from __future__ import annotations

import struct

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudb.errors import GpudbError
from gpudb.types import HALFVEC, SPARSEVEC, SqlType
from gpudb.values.binary import parse_binary
from gpudb.values.binary_columns import encode_binary_column
from gpudb.values.half_vectors import from_half_column, parse_half_vector_column, to_half_column
from gpudb.values.sparse_vectors import SparseColumn, decode_sparse, encode_sparse
from gpudb.values.text import format_text, parse_text
from gpudb.values.text_columns import format_text_column

HALVES = st.floats(width=16, allow_nan=False, allow_infinity=False).map(lambda value: value + 0.0)
ROWS = st.lists(HALVES, min_size=1, max_size=5)


@st.composite
def sparse(draw: st.DrawFn) -> dict[int, float]:
    """Numbers by place from 0 on, and under -1 the dimensions."""
    dimensions = draw(st.integers(1, 6))
    numbers = st.floats(width=32, allow_nan=False, allow_infinity=False).filter(bool)
    return {-1: float(dimensions), **draw(st.dictionaries(st.integers(0, dimensions - 1), numbers))}


def key_of(vector: dict[int, float]) -> bytes:
    places = sorted(place for place in vector if place >= 0)
    return encode_sparse(
        np.array(places, np.int64), np.array([vector[place] for place in places], np.float32), int(vector[-1])
    )


def dense(vector: dict[int, float]) -> list[float]:
    return [vector.get(place, 0.0) for place in range(int(vector[-1]))]


@settings(deadline=None)
@given(st.lists(st.none() | ROWS, max_size=7))
def test_half_columns_survive_all_forms(rows: list[list[float] | None]) -> None:
    column = to_half_column(pa.array(rows, pa.list_(pa.float32())))
    assert from_half_column(column).to_pylist() == rows
    assert from_half_column(column[1:]).to_pylist() == rows[1:]
    texts = format_text_column(HALFVEC, column)
    assert parse_half_vector_column(HALFVEC, texts).equals(column)
    encoded = encode_binary_column(HALFVEC, column).to_pylist()
    assert encode_binary_column(HALFVEC, column[1:]).to_pylist() == encoded[1:]
    for row, text, data, key in zip(rows, texts.to_pylist(), encoded, column.to_pylist(), strict=True):
        assert (row is None) == (data is None)
        if row is not None:
            assert data == struct.pack(f">hh{len(row)}e", len(row), 0, *row)
            assert parse_binary(HALFVEC, data) == parse_text(HALFVEC, text) == key
            assert format_text(HALFVEC, key) == text


@settings(deadline=None)
@given(ROWS, ROWS)
def test_half_vectors_compare_as_bytes(one: list[float], other: list[float]) -> None:
    left, right = to_half_column(pa.array([one, other], pa.list_(pa.float32()))).to_pylist()
    assert (left < right, left == right) == (one < other, one == other)


@settings(deadline=None)
@given(st.lists(st.none() | sparse(), max_size=7))
def test_sparse_columns_survive_all_forms(rows: list[dict[int, float] | None]) -> None:
    column = pa.array([None if row is None else key_of(row) for row in rows], pa.binary())
    assert SparseColumn.decode(column).encode().equals(column)
    assert SparseColumn.decode(column[1:]).encode().to_pylist() == column[1:].to_pylist()
    texts = format_text_column(SPARSEVEC, column).to_pylist()
    encoded = encode_binary_column(SPARSEVEC, column).to_pylist()
    for row, text, data, key in zip(rows, texts, encoded, column.to_pylist(), strict=True):
        assert (row is None) == (text is None) == (data is None)
        if row is not None:
            places = sorted(place for place in row if place >= 0)
            numbers = [row[place] for place in places]
            count = len(places)
            assert data == struct.pack(f">iii{count}i{count}f", int(row[-1]), count, 0, *places, *numbers)
            assert parse_binary(SPARSEVEC, data) == parse_text(SPARSEVEC, text) == key
            found, held, dimensions = decode_sparse(key)
            assert (found.tolist(), held.tolist(), dimensions) == (places, numbers, row[-1])


@settings(deadline=None)
@given(sparse(), sparse())
def test_sparse_vectors_compare_as_the_lists_of_all_their_numbers(
    one: dict[int, float], other: dict[int, float]
) -> None:
    left, right = key_of(one), key_of(other)
    assert (left < right, left == right) == (dense(one) < dense(other), dense(one) == dense(other))


READ = [
    (HALFVEC, " [ 1,  2.5 ,-0 ] ", "[1,2.5,0]"),
    (HALFVEC, "[0.1,65504,1e-8]", "[0.099975586,65504,0]"),
    (HALFVEC, "[0x1p3,.5,6e-8]", "[8,0.5,5.9604645e-08]"),
    (SPARSEVEC, " { 3 : 2.5 , 1:-1 } / 5 ", "{1:-1,3:2.5}/5"),
    (SPARSEVEC, "{}/3", "{}/3"),
    (SPARSEVEC, "{1:0,2:-0,3:1e-7}/1000000000", "{3:1e-07}/1000000000"),
]


@pytest.mark.parametrize(("kind", "text", "shown"), READ)
def test_texts(kind: SqlType, text: str, shown: str) -> None:
    assert format_text(kind, parse_text(kind, text)) == shown


WRONG = [
    (HALFVEC, "[]", "22000", "halfvec must have at least 1 dimension"),
    (HALFVEC, "[1,2", "22P02", "invalid input syntax for type halfvec"),
    (HALFVEC, "[1]x", "22P02", "invalid input syntax for type halfvec"),
    (HALFVEC, "[65520]", "22003", '"65520" is out of range for type halfvec'),
    (HALFVEC, "[1,-1e5]", "22003", '"-1e5" is out of range for type halfvec'),
    (HALFVEC, "[nan]", "22000", "NaN not allowed in halfvec"),
    (HALFVEC, "[-inf]", "22000", "infinite value not allowed in halfvec"),
    (SqlType("halfvec", 3), "[1,2]", "22000", "expected 3 dimensions, not 2"),
    (HALFVEC, "[" + "1," * 16000 + "1]", "54000", "halfvec cannot have more than 16000 dimensions"),
    (SPARSEVEC, "[1]", "22P02", "invalid input syntax for type sparsevec"),
    (SPARSEVEC, "{1:2}", "22P02", "invalid input syntax for type sparsevec"),
    (SPARSEVEC, "{1:2}/", "22P02", "invalid input syntax for type sparsevec"),
    (SPARSEVEC, "{1.5:2}/3", "22P02", "invalid input syntax for type sparsevec"),
    (SPARSEVEC, "{1:2,}/3", "22P02", "invalid input syntax for type sparsevec"),
    (SPARSEVEC, "{1:2}/3x", "22P02", "invalid input syntax for type sparsevec"),
    (SPARSEVEC, "{0:1}/3", "22000", "sparsevec index out of bounds"),
    (SPARSEVEC, "{4:1}/3", "22000", "sparsevec index out of bounds"),
    (SPARSEVEC, "{99999999999:1}/3", "22000", "sparsevec index out of bounds"),
    (SPARSEVEC, "{2:1,2:3}/3", "22000", "sparsevec indices must not contain duplicates"),
    (SPARSEVEC, "{1:nan}/3", "22000", "NaN not allowed in sparsevec"),
    (SPARSEVEC, "{1:inf}/3", "22000", "infinite value not allowed in sparsevec"),
    (SPARSEVEC, "{1:1e39}/3", "22003", '"1e39" is out of range for type sparsevec'),
    (SPARSEVEC, "{1:1e-50}/3", "22003", '"1e-50" is out of range for type sparsevec'),
    (SPARSEVEC, "{}/0", "22000", "sparsevec must have at least 1 dimension"),
    (SPARSEVEC, "{}/1000000001", "54000", "sparsevec cannot have more than 1000000000 dimensions"),
    (SqlType("sparsevec", 3), "{}/2", "22000", "expected 3 dimensions, not 2"),
    (
        SPARSEVEC,
        "{" + ",".join(f"{n}:1" for n in range(1, 16002)) + "}/20000",
        "54000",
        "sparsevec cannot have more than",
    ),
]


@pytest.mark.parametrize(("kind", "text", "sqlstate", "message"), WRONG)
def test_malformed_texts_are_refused(kind: SqlType, text: str, sqlstate: str, message: str) -> None:
    with pytest.raises(GpudbError) as caught:
        parse_text(kind, text)
    assert caught.value.sqlstate == sqlstate
    assert caught.value.message.startswith(message)


BINARY = [
    (HALFVEC, struct.pack(">hhe", 1, 1, 2.0), "22000"),
    (HALFVEC, struct.pack(">hhe", 1, 0, float("nan")), "22000"),
    (HALFVEC, struct.pack(">hh", 0, 0), "22000"),
    (HALFVEC, struct.pack(">hhe", 2, 0, 1.0), "08P01"),
    (HALFVEC, struct.pack(">hhee", 1, 0, 1.0, 2.0), "22P03"),
    (HALFVEC, b"\0", "22P03"),
    (SPARSEVEC, struct.pack(">iii", 0, 0, 0), "22000"),
    (SPARSEVEC, struct.pack(">iii", 3, -1, 0), "22000"),
    (SPARSEVEC, struct.pack(">iii", 3, 4, 0), "54000"),
    (SPARSEVEC, struct.pack(">iiiif", 3, 1, 1, 0, 1.0), "22000"),
    (SPARSEVEC, struct.pack(">iiiif", 3, 1, 0, 3, 1.0), "22000"),
    (SPARSEVEC, struct.pack(">iiiiiff", 3, 2, 0, 1, 0, 1.0, 1.0), "22000"),
    (SPARSEVEC, struct.pack(">iiiif", 3, 1, 0, 0, 0.0), "22000"),
    (SPARSEVEC, struct.pack(">iiii", 3, 1, 0, 0), "08P01"),
    (SPARSEVEC, struct.pack(">iiii", 3, 0, 0, 0), "22P03"),
    (SPARSEVEC, b"\0", "22P03"),
]


@pytest.mark.parametrize(("kind", "data", "sqlstate"), BINARY)
def test_malformed_binary_values_are_refused(kind: SqlType, data: bytes, sqlstate: str) -> None:
    with pytest.raises(GpudbError) as caught:
        parse_binary(kind, data)
    assert caught.value.sqlstate == sqlstate
