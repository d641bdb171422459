"""Encoding of record batches as DataRow messages."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from gpudb.server.wire import encode
from gpudb.server.wire.encode import encode_rows, frame_copy_data
from gpudb.types import BOOL, FLOAT8, INT4, INT8, TEXT, SqlType
from tests.support import raw_wire

TYPES = (INT8, TEXT, FLOAT8, BOOL, INT4)


def batch(count: int, nulls: bool) -> pa.RecordBatch:
    numbers = np.arange(count)
    mask = numbers % 3 == 0 if nulls else np.zeros(count, bool)
    return pa.record_batch(
        {
            "a": pa.array(numbers, pa.int64(), mask=mask),
            "b": pa.array([f"né{number}" for number in numbers], pa.string(), mask=mask),
            "c": pa.array(numbers / 4, pa.float64(), mask=mask),
            "d": pa.array(numbers % 2 == 0, pa.bool_(), mask=mask),
            "e": pa.array(numbers, pa.int32(), mask=mask),
        }
    )


def rows(data: pa.RecordBatch, types: Sequence[SqlType], formats: Sequence[int]) -> list[list[bytes | None]]:
    whole = b"".join(bytes(piece) for piece in encode_rows(data, types, formats))
    answers = raw_wire.split(whole)
    assert all(answer.kind == "D" for answer in answers)
    return [answer.values for answer in answers]


@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("count", [0, 1, 30, 1000])
def test_text_rows(count: int, nulls: bool) -> None:
    data = batch(count, nulls)
    expected = [[None if value is None else str(value).encode() for value in row.values()] for row in data.to_pylist()]
    for row in expected:
        if row[2] is not None:
            row[2] = row[2].removesuffix(b".0")
            row[3] = b"t" if row[3] == b"True" else b"f"
    assert rows(data, TYPES, (0,) * 5) == expected


@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("columns", [(0, 2, 3, 4), (0, 1, 2, 3, 4)])
def test_binary_rows(columns: tuple[int, ...], nulls: bool) -> None:
    data = batch(1000, nulls)
    types = [TYPES[at] for at in columns]
    picked = data.select([data.schema.names[at] for at in columns])
    forms = {"int8": ">i8", "int4": ">i4", "float8": ">f8", "bool": "?"}

    def packed(type_: SqlType, value: object) -> bytes | None:
        if value is None:
            return None
        return str(value).encode() if type_ == TEXT else np.array(value, forms[type_.name]).tobytes()

    expected = [[packed(type_, value) for type_, value in zip(types, row.values())] for row in picked.to_pylist()]
    assert rows(picked, types, (1,) * len(columns)) == expected


@pytest.mark.parametrize("scale", [0, 2, 9])
def test_few_numerics_are_spelled_as_many(scale: int, monkeypatch: pytest.MonkeyPatch) -> None:
    digits = [0, 1, -1, 5, 250, -250, 10**12 + 5, -(10**12) - 6, None, 10**25 - 1]
    plain = pa.array(digits, pa.decimal128(38, 0)).view(pa.decimal128(38, scale))
    shown = pa.array([0, 1, 2, scale, 12, 0, 1, 0, None, scale], pa.int8())
    carried = pa.StructArray.from_arrays([plain, shown], ["v", "s"], mask=plain.is_null())
    data = pa.record_batch([plain, carried], ["a", "b"])
    types = SqlType("numeric", modifier=(38 << 16 | scale) + 4), SqlType("numeric")
    few = rows(data, types, (0, 0))
    monkeypatch.setattr(encode, "FEW_ROWS", 0)
    assert rows(data, types, (0, 0)) == few


@pytest.mark.parametrize("count", [0, 1, 96, 97, 128, 129, 8192, 8193])
def test_rows_are_the_same_by_whichever_way_so_many_go(count: int) -> None:
    numbers = np.arange(count)
    columns = [
        pa.array(numbers - 40).cast(pa.int32()),
        pa.array([f"t{n % 90}" if n % 7 else None for n in numbers], pa.string()),
    ]
    more = [pa.array(numbers / 8), pa.array(numbers).cast(pa.int32()).cast(pa.date32())]
    types = INT4, TEXT, SqlType("float8"), SqlType("date")
    for kinds, chosen in ((types[:2], columns), (types, columns + more)):
        data = pa.RecordBatch.from_arrays(chosen, names=list("abcd")[: len(chosen)])
        expected = encode.encode_few_rows(data, kinds, (0,) * len(kinds), "UTC", None)
        assert b"".join(encode_rows(data, kinds, (0,) * len(kinds))) == expected


def test_formats_may_differ_by_column() -> None:
    data = pa.record_batch({"a": pa.array([7], pa.int32()), "b": pa.array([8], pa.int32())})
    assert rows(data, (INT4, INT4), (0, 1)) == [[b"7", b"\0\0\0\x08"]]


def test_slices_are_encoded_from_their_start() -> None:
    data = batch(100, nulls=True)
    for formats in ((0,) * 5, (1,) * 5):
        assert rows(data.slice(33, 20), TYPES, formats) == rows(data, TYPES, formats)[33:53]


def test_rows_without_columns() -> None:
    data = pa.record_batch({"a": pa.array([1, 2])}).select([])
    assert data.num_rows == 2
    assert rows(data, (), ()) == [[], []]


def test_wide_rows_come_in_small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encode, "_MAX_PIECE_BYTES", 10_000)
    monkeypatch.setattr(encode, "_SHORT_BYTES", 10_000)
    data = pa.record_batch({"a": pa.array(["x" * 1000] * 100)})
    pieces = [len(piece) for piece in encode_rows(data, (TEXT,), (0,))]
    assert len(pieces) >= 10
    assert max(pieces) < 20_000


def test_a_row_that_fits_no_message_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encode, "_LARGEST_MESSAGE", 100)
    data = pa.record_batch({"a": pa.array(["x" * 200])})
    with pytest.raises(Exception, match="larger than 1 GiB") as raised:
        list(encode_rows(data, (TEXT,), (0,)))
    assert getattr(raised.value, "sqlstate", None) == "54000"


def test_copied_rows_are_framed_one_by_one() -> None:
    rows = pa.array([b"ab", b"", b"c" * 300], pa.binary())
    framed = frame_copy_data(rows[1:])
    assert framed is not None
    assert bytes(framed) == b"d\0\0\0\x04" + b"d\0\0\x01\x30" + b"c" * 300
    whole = frame_copy_data(rows)
    assert whole is not None
    assert [len(answer.payload) for answer in raw_wire.split(bytes(whole))] == [2, 0, 300]
    assert frame_copy_data(pa.array([b"x" * (1 << 25)], pa.binary())) is None


def test_fields_of_one_width_are_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cost of joining is by the piece: adjacent fixed-width values are gathered beforehand."""
    monkeypatch.setattr(encode, "FEW_ROWS", 32)
    joined: list[int] = []
    join = pc.binary_join_element_wise
    monkeypatch.setattr(pc, "binary_join_element_wise", lambda *parts, **how: joined.append(len(parts)) or join(*parts))
    numbers = pa.array(range(100), pa.int32())
    data = pa.RecordBatch.from_arrays([numbers, numbers, pa.array(["x"] * 100), numbers], names=list("abcd"))
    types = (SqlType("int4"), SqlType("int4"), TEXT, SqlType("int4"))
    (piece,) = encode_rows(data, types, (1,) * 4)
    assert joined == [4]  # head and two numbers, the text, the last number, and the separator
    first = raw_wire.split(bytes(piece))[0].payload
    assert first == struct.pack("!hiiiii1sii", 4, 4, 0, 4, 0, 1, b"x", 4, 0)
