r"""The fast way: a block of rows that pyarrow's CSV reader surely splits as PostgreSQL does, split by it.

What differs between the two is looked for beforehand, with a few passes over the bytes: quotes within a field,
stray carriage returns, `\.`, backslashes, NUL. Where something of that kind is found, `QuickReader` says so by None.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from gpudb.storage.copy.convert import EXACT_DIGITS, FIRST_DAY, decimal_of, text_of
from gpudb.storage.copy.failure import RowError
from gpudb.storage.copy.options import CopyOptions
from gpudb.storage.copy.rows import unescaped
from gpudb.types import SqlType

_NEWLINE, _RETURN, _BACKSLASH, _DOT = b"\n\r\\."
_PARSED = {
    "int2": pa.int16(),
    "int4": pa.int32(),
    "int8": pa.int64(),
    "float4": pa.float32(),
    "float8": pa.float64(),
    "date": pa.date32(),
}
"""Types whose text pyarrow itself reads; what it reads otherwise than PostgreSQL shows in the values."""

_TEXT = frozenset({"text", "varchar", "bpchar"})
_BLOCK_LIMIT = 1 << 31


class QuickReader:
    """Splits blocks of one COPY; thread-safe. Columns are those of the data, in its order."""

    def __init__(self, types: Sequence[SqlType], options: CopyOptions) -> None:
        self._types = tuple(types)
        self._options = options
        self._csv = options.format == "csv"
        self._names = [f"c{number}" for number in range(len(types))]
        self._parsed = {
            name: held
            for name, type_ in zip(self._names, types)
            if (held := _parsed_type(type_)) is not None
        }
        own_escape = options.escape == options.quote
        self._parse = pyarrow.csv.ParseOptions(
            delimiter=options.delimiter,
            quote_char=options.quote if self._csv else False,
            double_quote=self._csv and own_escape,
            escape_char=False,
            newlines_in_values=self._csv,
            ignore_empty_lines=False,
        )
        self._strings = self._converting({name: pa.string() for name in self._names})
        self._typed = self._converting({name: self._parsed.get(name, pa.string()) for name in self._names})
        self.forced = bool(options.force_null or options.force_not_null)

    def _converting(self, held: dict[str, pa.DataType]) -> pyarrow.csv.ConvertOptions:
        return pyarrow.csv.ConvertOptions(
            column_types=held,
            null_values=[self._options.null],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )

    # ---- splitting

    def typed(self, data: bytes) -> list[pa.Array] | None:
        """The columns, numbers and dates in their final form, the rest as text; None where one must be read as text.

        For a block that `check` approved without backslashes to undo.
        """
        table = self._read(data, self._typed)
        if table is None:
            return None
        columns = []
        for name, type_, column in zip(self._names, self._types, table.columns):
            array = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
            if name in self._parsed and (array := self._final(type_, array, data)) is None:
                return None
            columns.append(array)
        return columns

    def texts(self, data: bytes, undo: bool) -> list[pa.StringArray] | None:
        """All columns as text, backslashes undone; None if rows are of different lengths or the like."""
        table = self._read(data, self._strings)
        if table is None:
            return None
        columns = [
            column.combine_chunks() if column.num_chunks != 1 else column.chunk(0) for column in table.columns
        ]
        if not undo:
            return columns
        try:
            return [_undone(column) for column in columns]
        except RowError:
            return None

    def _read(self, data: bytes, converting: pyarrow.csv.ConvertOptions) -> pa.Table | None:
        if len(data) >= _BLOCK_LIMIT - 1:
            return None
        reading = pyarrow.csv.ReadOptions(
            use_threads=False, block_size=len(data) + 1, column_names=self._names
        )
        try:
            return pyarrow.csv.read_csv(
                pa.BufferReader(data),
                read_options=reading,
                parse_options=self._parse,
                convert_options=converting,
            )
        except pa.ArrowInvalid:
            return None

    def is_final(self, number: int) -> bool:
        """Whether `typed` gives that column in its final form."""
        return self._names[number] in self._parsed

    def _final(self, type_: SqlType, array: pa.Array, data: bytes) -> pa.Array | None:
        if type_.name == "numeric":
            return decimal_of(type_, array)
        if array.null_count == len(array):
            return array
        if type_.name == "date":
            return array if pc.min(array.view(pa.int32())).as_py() >= FIRST_DAY else None
        if pa.types.is_integer(array.type):
            # 0xFFFF comes as the negative number of these bits
            negative = pc.min(array).as_py() < 0
            return None if negative and (b"0x" in data or b"0X" in data) else array
        numbers = array.to_numpy(zero_copy_only=False)
        # too large and too small a number come so, and are errors
        if np.isinf(numbers).any() or ((numbers == 0).any() and (b"e-" in data or b"E-" in data)):
            return None
        return array

    # ---- what pyarrow reads otherwise

    def check(self, data: bytes, eol: bytes) -> tuple[bool, bool]:
        """(whether pyarrow splits this block as PostgreSQL does, whether backslashes are to be undone)."""
        if b"\0" in data or eol == b"\r":
            return False, False
        default = self._options.default
        if default is not None and default.encode() in data:
            return False, False
        return self._check_csv(data, eol) if self._csv else self._check_text(data, eol)

    def _check_csv(self, data: bytes, eol: bytes) -> tuple[bool, bool]:
        if b"\\" in data and b"\\." in data:
            return False, False
        quote, escape = self._options.quote.encode(), self._options.escape.encode()
        if escape != quote and escape in data:
            return False, False
        returns = b"\r" in data
        if quote not in data:
            return not returns or (eol == b"\r\n" and _all_pairs(data)), False
        view = np.frombuffer(data, np.uint8)
        quotes = np.flatnonzero(view == quote[0])
        if len(quotes) % 2:
            return False, False
        opening = quotes[::2]
        before = view[np.maximum(opening, 1) - 1]
        starts = (before == ord(self._options.delimiter)) | (before == _NEWLINE)
        if escape == quote:
            starts |= before == quote[0]
        starts[0] |= opening[0] == 0
        if not starts.all():
            return False, False
        return (eol == b"\n" and not returns) or _line_ends_alike(view, quotes, eol), False

    def _check_text(self, data: bytes, eol: bytes) -> tuple[bool, bool]:
        if b"\r" in data and not (eol == b"\r\n" and _all_pairs(data)):
            return False, False
        if b"\\" not in data:
            return True, False
        view = np.frombuffer(data, np.uint8)
        delimiter = ord(self._options.delimiter)
        places = np.flatnonzero(view == _BACKSLASH)
        if places[-1] == len(data) - 1:
            return False, False
        after = view[places + 1]
        hidden = places[(after == delimiter) | (after == _NEWLINE) | (after == _RETURN) | (after == _DOT)]
        if any(_escapes(data, place) for place in hidden.tolist()):
            return False, False
        return True, not (self._options.null == "\\N" and _only_nulls(view, places, delimiter))


def _parsed_type(type_: SqlType) -> pa.DataType | None:
    if type_.name == "numeric" and not type_.carried and type_.numeric_digits[0] <= EXACT_DIGITS:
        return pa.float64()
    return _PARSED.get(type_.name)


def _all_pairs(data: bytes) -> bool:
    """Whether carriage returns and newlines come only together."""
    pairs = data.count(b"\r\n")
    return data.count(b"\r") == pairs == data.count(b"\n")


def _line_ends_alike(
    view: npt.NDArray[np.uint8], quotes: npt.NDArray[np.int64], eol: bytes
) -> bool:
    """Whether outside quotes lines end by `eol` alone."""
    returns, newlines = (
        places[np.searchsorted(quotes, places) % 2 == 0]
        for places in (np.flatnonzero(view == _RETURN), np.flatnonzero(view == _NEWLINE))
    )
    if eol == b"\n":
        return len(returns) == 0
    return len(returns) == len(newlines) and bool((returns + 1 == newlines).all())


def _escapes(data: bytes, place: int) -> bool:
    """Whether the backslash there is not itself behind one: it is the last of an odd number."""
    first = place
    while first and data[first - 1] == _BACKSLASH:
        first -= 1
    return (place - first) % 2 == 0


def _only_nulls(view: npt.NDArray[np.uint8], places: npt.NDArray[np.int64], delimiter: int) -> bool:
    r"""Whether every backslash is that of a field `\N`."""
    if (view[places + 1] != ord("N")).any():
        return False
    before = view[np.maximum(places, 1) - 1]
    starts = (before == delimiter) | (before == _NEWLINE)
    starts[0] |= places[0] == 0
    last = np.minimum(places + 2, len(view) - 1)
    after = view[last]
    ends = (after == delimiter) | (after == _NEWLINE) | (after == _RETURN) | (places + 2 >= len(view))
    return bool(starts.all() and ends.all())


def _undone(column: pa.StringArray) -> pa.StringArray:
    behind = pc.fill_null(pc.match_substring(column, "\\"), False)
    if not pc.any(behind).as_py():
        return column
    texts = [unescaped(text) for text in column.filter(behind).to_pylist()]
    return pc.replace_with_mask(column, behind, pa.array(texts, pa.string()))


def text_final(type_: SqlType, column: pa.StringArray) -> pa.Array | None:
    """A column of text in its final form at once; None if it is no text, or too long."""
    return text_of(type_, column) if type_.name in _TEXT else None
