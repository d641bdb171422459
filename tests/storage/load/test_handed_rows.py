"""Rows of Arrow files as they are handed to processes: each call has its own alone."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

from gpudb.storage.load.loader import BatchBlock
from gpudb.storage.row_processes import trim

ROWS, PART = 100_000, 1000
_WORDS = pa.array([f"row {number}, whose text is longer than a view" for number in range(ROWS)])
_NUMBERS = pa.array(range(ROWS), pa.int64())
_DICTIONARY = pa.DictionaryArray.from_arrays(_NUMBERS, _WORDS)
_FEW = pa.DictionaryArray.from_arrays(
    pa.array([number % 3 for number in range(ROWS)], pa.int32()), pa.array(["a", "b", "c"])
)


def _sent(value: object) -> int:
    """The bytes of a call's argument."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return len(head) + sum(buffer.raw().nbytes for buffer in buffers)


@pytest.mark.parametrize(
    "column",
    [
        _NUMBERS,
        _WORDS,
        _WORDS.cast(pa.string_view()),
        _WORDS.cast(pa.binary()).cast(pa.binary_view()),
        _DICTIONARY,
        _FEW,
    ],
    ids=["numbers", "texts", "text views", "byte views", "a long dictionary", "a short dictionary"],
)
def test_a_slice_is_cut(column: pa.Array) -> None:
    """The rows of a slice are the same, and all slices together are not sent much more than once."""
    whole = pa.record_batch({"a": column})
    size = 0
    for start in range(0, ROWS, PART):
        part = whole.slice(start, PART)
        cut = BatchBlock(b"", None, batch=part).detach()
        assert cut.batch is not None
        assert cut.batch.column(0).to_pylist() == part.column(0).to_pylist()
        size += _sent(cut)
    assert size < 2 * _sent(whole)


def test_columns_come_back_alone() -> None:
    """A slice that is a result as it is: its type stays."""
    for column in (_NUMBERS, _WORDS, pa.array([True] * ROWS), pa.nulls(ROWS)):
        part = column.slice(7, PART)
        assert trim(part).equals(part)
        assert trim(part).type == part.type
        assert _sent(trim(part)) < 100 * PART
    assert trim(_NUMBERS) is _NUMBERS
