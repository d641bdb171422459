"""Vectors: text and binary forms, of single values and of columns, beside pgvector's documented examples and NumPy."""

from __future__ import annotations

import struct

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudb.errors import SqlError
from gpudb.types import VECTOR, SqlType
from gpudb.values.binary import parse_binary
from gpudb.values.binary_columns import encode_binary_column
from gpudb.values.text import format_text, parse_text
from gpudb.values.text_columns import format_text_column
from gpudb.values.vectors import decode_vector_rows, parse_vector_column

NUMBERS = st.floats(width=32, allow_nan=False, allow_infinity=False)
VECTORS = st.lists(NUMBERS, min_size=1, max_size=9)

READ = {
    "[1,2,3]": "[1,2,3]",
    " [ 1,  2 ,    3  ] ": "[1,2,3]",
    "[1.,.5,+2]": "[1,0.5,2]",
    "[1.23456]": "[1.23456]",
    "[1.5e38,-1.5e+38]": "[1.5e+38,-1.5e+38]",
    "[1.5e-38]": "[1.5e-38]",
    "[1e-46,-1e-46]": "[0,0]",
    "[0x10]": "[16]",
}
WRONG = {
    "[hello,1]": ("22P02", 'invalid input syntax for type vector: "[hello,1]"', None),
    "[NaN,1]": ("22000", "NaN not allowed in vector", None),
    "[-Infinity,1]": ("22000", "infinite value not allowed in vector", None),
    "[4e38,1]": ("22003", '"4e38" is out of range for type vector', None),
    "[1,2,3": ("22P02", 'invalid input syntax for type vector: "[1,2,3"', None),
    "[1,2,3]9": ("22P02", 'invalid input syntax for type vector: "[1,2,3]9"', "Junk after closing right brace."),
    "1,2": ("22P02", 'invalid input syntax for type vector: "1,2"', 'Vector contents must start with "[".'),
    "": ("22P02", 'invalid input syntax for type vector: ""', 'Vector contents must start with "[".'),
    "[": ("22P02", 'invalid input syntax for type vector: "["', None),
    "[ ]": ("22000", "vector must have at least 1 dimension", None),
    "[1,]": ("22P02", 'invalid input syntax for type vector: "[1,]"', None),
    "[1, ,3]": ("22P02", 'invalid input syntax for type vector: "[1, ,3]"', None),
    "[1a]": ("22P02", 'invalid input syntax for type vector: "[1a]"', None),
    "[1_0]": ("22P02", 'invalid input syntax for type vector: "[1_0]"', None),
    f"[{','.join(['1'] * 16001)}]": ("54000", "vector cannot have more than 16000 dimensions", None),
}


@pytest.mark.parametrize("text", READ)
def test_text_is_read_and_written_as_pgvector_does(text: str) -> None:
    assert format_text(VECTOR, parse_text(VECTOR, text)) == READ[text]
    column = parse_vector_column(VECTOR, pa.array([text, None, "[7]"]))
    assert format_text_column(VECTOR, column).to_pylist() == [READ[text], None, "[7]"]


@pytest.mark.parametrize("text", WRONG)
def test_errors_are_those_of_pgvector(text: str) -> None:
    for parse in (
        lambda: parse_text(VECTOR, text),
        lambda: parse_vector_column(VECTOR, pa.array(["[1]", text])),
    ):
        with pytest.raises(SqlError) as caught:
            parse()
        assert (caught.value.sqlstate, caught.value.message, caught.value.detail) == WRONG[text]


def test_declared_dimensions_are_checked() -> None:
    declared = SqlType("vector", 3)
    assert parse_text(declared, "[1,2,3]") == (1.0, 2.0, 3.0)
    for parse in (
        lambda: parse_text(declared, "[1,2]"),
        lambda: parse_vector_column(declared, pa.array(["[1,2,3]", "[1,2]"])),
        lambda: parse_binary(declared, struct.pack(">hhff", 2, 0, 1, 2)),
    ):
        with pytest.raises(SqlError, match="expected 3 dimensions, not 2") as caught:
            parse()
        assert caught.value.sqlstate == "22000"


@settings(deadline=None)
@given(st.lists(st.none() | VECTORS, max_size=8))
def test_columns_survive_both_forms(rows: list[list[float] | None]) -> None:
    column = pa.array(rows, pa.list_(pa.float32()))
    expected = [None if row is None else [value + 0.0 for value in row] for row in rows]
    texts = format_text_column(VECTOR, column)
    assert parse_vector_column(VECTOR, texts).to_pylist() == expected
    encoded = encode_binary_column(VECTOR, column)
    for row, data in zip(rows, encoded.to_pylist(), strict=True):
        assert (row is None) == (data is None)
        if row is not None:
            assert data == struct.pack(f">hh{len(row)}f", len(row), 0, *row)
            assert parse_binary(VECTOR, data) == tuple(value + 0.0 for value in row)
    sliced = column[1:]
    assert encode_binary_column(VECTOR, sliced).to_pylist() == encoded[1:].to_pylist()
    assert format_text_column(VECTOR, sliced).to_pylist() == texts[1:].to_pylist()


@settings(deadline=None)
@given(st.integers(1, 5).flatmap(lambda n: st.lists(st.lists(NUMBERS, min_size=n, max_size=n), min_size=1)))
def test_binary_rows_of_one_size_are_decoded_together(rows: list[list[float]]) -> None:
    data = b"".join(struct.pack(f">hh{len(row)}f", len(row), 0, *row) for row in rows)
    table = np.frombuffer(data, np.uint8).reshape(len(rows), -1)
    missing = np.zeros(len(rows), bool)
    missing[0] = True
    expected = [None, *([number + 0.0 for number in row] for row in rows[1:])]
    assert decode_vector_rows(VECTOR, table, missing).to_pylist() == expected


@pytest.mark.parametrize(
    ("data", "sqlstate"),
    [
        (struct.pack(">hhf", 1, 1, 2.0), "22000"),
        (struct.pack(">hhf", 1, 0, float("nan")), "22000"),
        (struct.pack(">hh", 0, 0), "22000"),
        (struct.pack(">hhf", 2, 0, 1.0), "08P01"),
        (struct.pack(">hhff", 1, 0, 1.0, 2.0), "22P03"),
        (b"\0", "22P03"),
    ],
)
def test_malformed_binary_values_are_refused(data: bytes, sqlstate: str) -> None:
    with pytest.raises(SqlError) as caught:
        parse_binary(VECTOR, data)
    assert caught.value.sqlstate == sqlstate
