"""Converts batches to rows of the text, csv and binary formats, a column at a time."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.errors import SqlError
from gpudb.storage.copy.options import CopyOptions
from gpudb.storage.copy.pipeline import map_in_order
from gpudb.types import SqlType
from gpudb.values.binary_columns import RowBuilder
from gpudb.values.text_columns import format_text_column

SIGNATURE = b"PGCOPY\n\xff\r\n\0"
HEADER = SIGNATURE + struct.pack("!ii", 0, 0)
TRAILER = struct.pack("!h", -1)

JOINED_ROWS = 16_384
"""Rows that are joined at a time."""

_BARE = frozenset("bool int2 int4 int8 oid float4 float8 numeric date time timestamp timestamptz uuid".split())
_USUAL_DELIMITERS = "\t,|;"
_CONTROLS = {"\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t", "\v": "v"}


class RowWriter:
    """Writes one COPY TO; `zone` is the session's TimeZone."""

    def __init__(self, names: Sequence[str], types: Sequence[SqlType], options: CopyOptions, zone: str = "UTC") -> None:
        self._names = tuple(names)
        self._types = tuple(types)
        self._options = options
        self._zone = zone
        quoted = options.force_quote
        self._forced = [quoted == "*" or name in quoted for name in names]
        separator = re.escape(options.delimiter)
        self._special = rf"[\\\x08\f\n\r\t\x0b{separator}]"
        self._quotable = rf"[\n\r{separator}{re.escape(options.quote)}]"
        self.rows = 0

    def messages(self, batches: Iterable[pa.RecordBatch]) -> Iterator[bytes | pa.BinaryArray]:
        """Yields one-row messages, as clients expect, many in an array; the header comes first, the trailer last."""
        binary = self._options.format == "binary"
        before = HEADER if binary else b""
        if self._options.header != "none":
            yield self._encode_header()
        for rows in self._row_arrays(batches):
            if before and len(rows):
                yield before + rows[0].as_py()
                rows, before = rows[1:], b""
            yield rows
        if binary:
            yield before + TRAILER

    def blocks(self, batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
        """Yields the same bytes in blocks of many rows, for a file."""
        binary = self._options.format == "binary"
        if binary:
            yield HEADER
        if self._options.header != "none":
            yield self._encode_header()
        for rows in self._row_arrays(batches):
            if self._options.is_utf8 or binary:
                start, end = _find_bounds(rows)
                yield bytes(memoryview(rows.buffers()[2])[start:end])
            else:
                yield b"".join(rows.to_pylist())
        if binary:
            yield TRAILER

    def _row_arrays(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.BinaryArray]:
        """Yields the rows of all batches in order; later parts are joined while earlier ones are sent."""
        for arrays in map_in_order(partial(self._encode_rows, part) for part in self._split(batches)):
            yield from self._count(arrays)

    def _count(self, arrays: list[pa.BinaryArray]) -> list[pa.BinaryArray]:
        self.rows += sum(map(len, arrays))
        return arrays

    def _split(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for start in range(0, batch.num_rows, JOINED_ROWS):
                yield batch.slice(start, JOINED_ROWS)

    def _encode_rows(self, batch: pa.RecordBatch) -> list[pa.BinaryArray]:
        """Returns the rows as bytes; in halves if they exceed the limit of one array."""
        try:
            rows = self._encode_binary(batch) if self._options.format == "binary" else self._encode_text(batch)
        except (pa.ArrowInvalid, SqlError) as error:
            if batch.num_rows == 1 or (isinstance(error, SqlError) and error.sqlstate != "54000"):
                raise
            half = batch.num_rows // 2
            return [*self._encode_rows(batch.slice(0, half)), *self._encode_rows(batch.slice(half))]
        return [rows]

    # ---- text and csv

    def _encode_text(self, batch: pa.RecordBatch) -> pa.BinaryArray:
        options = self._options
        if not self._types:
            return pa.array([b"\n"] * batch.num_rows, pa.binary())
        columns = [
            self._encode_field(number, type_, format_text_column(type_, column, self._zone))
            for number, (type_, column) in enumerate(zip(self._types, batch.columns))
        ]
        last = pc.fill_null(columns[-1], options.null)
        columns[-1] = pc.binary_join_element_wise(last, "\n", "")
        joined = pc.binary_join_element_wise(
            *columns, options.delimiter, null_handling="replace", null_replacement=options.null
        )
        if options.is_utf8:
            return joined.cast(pa.binary())
        return pa.array([self._encode_line(row) for row in joined.to_pylist()], pa.binary())

    def _encode_field(self, number: int, type_: SqlType, text: pa.StringArray) -> pa.StringArray:
        forced = self._forced[number]
        if type_.name in _BARE and not forced and self._options.delimiter in _USUAL_DELIMITERS:
            return text if self._options.format == "text" else self._quote(text, None)
        if self._options.format == "text":
            return self._escape(text)
        if forced:
            return self._quote(text, pc.is_valid(text))
        return self._quote(text, pc.match_substring_regex(text, self._quotable))

    def _escape(self, text: pa.StringArray) -> pa.StringArray:
        if not pc.any(pc.match_substring_regex(text, self._special)).as_py():
            return text
        delimiter = self._options.delimiter
        text = pc.replace_substring(text, "\\", "\\\\")
        for char, letter in _CONTROLS.items():
            if pc.any(pc.match_substring(text, char)).as_py():
                text = pc.replace_substring(text, char, "\\" + letter)
        if delimiter not in _CONTROLS:
            text = pc.replace_substring(text, delimiter, "\\" + delimiter)
        return text

    def _quote(self, text: pa.StringArray, must_quote: pa.BooleanArray | None) -> pa.StringArray:
        """Quotes values where wanted, and where they would be read as NULL or as the end of the data."""
        options = self._options
        alike = pc.equal(text, options.null)
        if len(self._types) == 1:
            alike = pc.or_(alike, pc.equal(text, "\\."))
        must_quote = alike if must_quote is None else pc.or_(must_quote, alike)
        if not pc.any(must_quote).as_py():
            return text
        inner = text
        if options.escape != options.quote:
            inner = pc.replace_substring(inner, options.escape, options.escape * 2)
        inner = pc.replace_substring(inner, options.quote, options.escape + options.quote)
        return pc.if_else(must_quote, pc.binary_join_element_wise(options.quote, inner, options.quote, ""), text)

    def _encode_header(self) -> bytes:
        options = self._options
        names = pa.array(self._names, pa.string())
        if options.format == "text":
            fields = self._escape(names)
        else:
            fields = self._quote(names, pc.match_substring_regex(names, self._quotable))
        return self._encode_line(options.delimiter.join(fields.to_pylist()) + "\n")

    def _encode_line(self, text: str) -> bytes:
        try:
            return text.encode(self._options.encoding)
        except UnicodeEncodeError as error:
            shown = " ".join(f"0x{byte:02x}" for byte in text[error.start].encode())
            raise SqlError.of(
                "untranslatable_character",
                f'character with byte sequence {shown} in encoding "UTF8" has no equivalent in encoding '
                f'"{self._options.encoding_name}"',
            ) from None

    # ---- binary

    def _encode_binary(self, batch: pa.RecordBatch) -> pa.BinaryArray:
        rows = RowBuilder(batch.num_rows)
        rows.append_fixed(">i2", len(self._types))
        for type_, column in zip(self._types, batch.columns):
            rows.append_binary(type_, column)
        return rows.build()


def measure(rows: pa.BinaryArray) -> int:
    """Returns the bytes of rows without NULLs."""
    start, end = _find_bounds(rows)
    return end - start


def _find_bounds(rows: pa.BinaryArray) -> tuple[int, int]:
    """Returns where the first row begins and the last one ends in the rows' data."""
    ends = np.frombuffer(rows.buffers()[1], np.int32)
    return int(ends[rows.offset]), int(ends[rows.offset + len(rows)])
