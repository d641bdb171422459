r"""The fast path: splits a block with pyarrow's CSV reader where that is certain to split as PostgreSQL does.

Differences are detected with as few passes over the bytes as possible: stray carriage returns, `\.`, backslashes and
NUL in advance, quotes within a field afterwards. If one is found, `FastReader` returns None.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from gpudb.storage.copy import bitmaps
from gpudb.storage.copy.byte_probes import ByteProbes
from gpudb.storage.copy.conversion import check_length
from gpudb.storage.copy.errors import RowError
from gpudb.storage.copy.exact_reader import unescape
from gpudb.storage.copy.native_parsing import finish_columns, native_type
from gpudb.storage.copy.options import CopyOptions
from gpudb.types import SqlType

_NEWLINE, _RETURN, _BACKSLASH, _DOT = b"\n\r\\."
_TEXT = frozenset({"text", "varchar", "bpchar"})
_MARK = b"\xef\xbb\xbf"
"""The byte order mark of UTF-8."""
_BLOCK_LIMIT = 1 << 31
_QUOTED_LINE = 1 << 16
"""Maximum length of a last line that is searched for an unterminated quote."""

_WRONG_COLUMN = re.compile(r"CSV column #(\d+)")


class FastReader:
    """Splits blocks of one COPY; thread-safe. Columns are those of the data, in its order.

    `as_text` has the numbers of columns that must be read as text, whatever their type.
    """

    def __init__(self, types: Sequence[SqlType], options: CopyOptions, as_text: frozenset[int] = frozenset()) -> None:
        self._types = tuple(types)
        self._options, self._as_text = options, as_text
        self._csv = options.format == "csv"
        self._quote = options.quote.encode()
        self._escape = options.escape.encode()
        self._names = [f"c{number}" for number in range(len(types))]
        own_escape = options.escape == options.quote
        self._parse = pyarrow.csv.ParseOptions(
            delimiter=options.delimiter,
            quote_char=options.quote if self._csv else False,
            double_quote=self._csv and own_escape,
            escape_char=False,
            newlines_in_values=self._csv,
            ignore_empty_lines=options.skip_empty and len(types) > 1,
        )
        # Replaced as a whole when a column has text that pyarrow may read differently, since other threads read
        # meanwhile.
        self._parsed = {
            number: held
            for number, type_ in enumerate(types)
            if number not in as_text and (held := native_type(type_)) is not None
        }

    def __reduce__(self) -> tuple[object, ...]:
        # Options of pyarrow that were pickled call a handler of wrong rows that is None
        return FastReader, (self._types, self._options, self._as_text)

    # ---- splitting

    def columns(self, data: bytes, eol: bytes, undo: bool, signs: ByteProbes) -> list[pa.Array] | None:
        """Returns the columns of a block that `check` approved; None if its rows differ in length or are malformed.

        `signs` are the block's. Columns for which `is_final` is true have their type's Arrow form, others are text.
        """
        parsed = {} if undo else self._parsed
        while True:
            try:
                columns = self._read(data, parsed)
                break
            except pa.ArrowInvalid as error:
                found = _WRONG_COLUMN.search(str(error))
                if found is None or int(found.group(1)) not in parsed:
                    return None
                wrong = int(found.group(1))
                self._parsed = parsed = {n: held for n, held in parsed.items() if n != wrong}
        if self._may_have_empty_line(columns) and signs.has_empty_line():
            return None
        if self._csv and self._quote in data and not self._quotes_agree(data, eol, columns):
            return None
        if undo:
            try:
                return [_unescape_column(column) for column in columns]
            except RowError:
                return None
        doubtful = finish_columns(self._types, columns, parsed, signs)
        if doubtful:
            self._parsed = {n: held for n, held in self._parsed.items() if n not in doubtful}
            texts = self._read(data, {}, doubtful)
            for number, text in zip(doubtful, texts):
                columns[number] = text
        return columns

    def _may_have_empty_line(self, columns: list[pa.Array]) -> bool:
        """Returns whether a row may be pyarrow's reading of an empty line: all NULL, or empty strings."""
        if len(columns) == 1 or self._options.skip_empty:
            return False
        if "" in self._options.all_nulls:
            return all(column.null_count for column in columns)
        return all(column.type == pa.string() for column in columns)

    def is_final(self, number: int, column: pa.Array) -> bool:
        """Returns whether a column returned by `columns` has its final form."""
        return bool(column.type != pa.string() and self._types[number].arrow == column.type)

    def _read(
        self, data: bytes, parsed: Mapping[int, pa.DataType], only: Sequence[int] | None = None
    ) -> list[pa.Array]:
        if len(data) >= _BLOCK_LIMIT - 1:
            raise pa.ArrowInvalid("too long a block")
        if data.startswith(_MARK):
            data = _MARK + data  # pyarrow drops one; for PostgreSQL it is a character of the first field
        table = pyarrow.csv.read_csv(
            pa.BufferReader(data),
            read_options=pyarrow.csv.ReadOptions(use_threads=False, block_size=len(data) + 1, column_names=self._names),
            parse_options=self._parse,
            convert_options=pyarrow.csv.ConvertOptions(
                column_types={name: parsed.get(n, pa.string()) for n, name in enumerate(self._names)},
                include_columns=None if only is None else [self._names[number] for number in only],
                null_values=list(self._options.all_nulls),
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                check_utf8=not data.isascii(),
            ),
        )
        return [column.chunk(0) if column.num_chunks == 1 else column.combine_chunks() for column in table.columns]

    # ---- differences from PostgreSQL

    def check(self, data: bytes, eol: bytes) -> tuple[bool, bool]:
        """Returns whether pyarrow splits this block as PostgreSQL does, and whether backslashes must be decoded."""
        if b"\0" in data or eol == b"\r":
            return False, False
        default = self._options.default
        if default is not None and default.encode() in data:
            return False, False
        return self._check_csv(data, eol) if self._csv else self._check_text(data, eol)

    def _check_csv(self, data: bytes, eol: bytes) -> tuple[bool, bool]:
        if b"\\" in data and b"\\." in data:
            return False, False
        if self._quote in data:
            return self._escape == self._quote or self._escape not in data, False
        return _has_only_crlf(data) if eol == b"\r\n" else b"\r" not in data, False

    def _quotes_agree(self, data: bytes, eol: bytes, columns: list[pa.Array]) -> bool:
        """Returns whether PostgreSQL splits a block with quotes as pyarrow did.

        In PostgreSQL every quote opens or closes; pyarrow keeps one that does not begin its field, and accepts an
        unterminated quote in the last field. They agree if no value contains a quote and the last line ends outside
        quotes.
        """
        if eol == b"\n" and b"\r" not in data and self._ends_outside(data, columns[-1]):
            texts = (column for column in columns if column.type == pa.string())
            if not any(_contains(column, self._quote) for column in texts):
                return True
        return self._quotes_frame_fields(data, eol)

    def _ends_outside(self, data: bytes, last: pa.Array) -> bool:
        line = data.rfind(b"\n", 0, -1) + 1
        if not data.endswith(b"\n") or len(data) - line > _QUOTED_LINE or data.count(self._quote, line) % 2:
            return False
        # If an earlier line opened a quote, the last value ends with this line's newline.
        return not (last.type == pa.string() and (last[-1].as_py() or "").endswith("\n"))

    def _quotes_frame_fields(self, data: bytes, eol: bytes) -> bool:
        """Returns whether quotes open only at the start of a field, and carriage returns occur only at line ends."""
        marks = bitmaps.CharacterIndex(data)
        quotes = marks.find(self._quote)
        inside = bitmaps.mark_quoted(quotes)
        if inside is None:
            return False
        # An opening quote follows a delimiter, a line end, or the quote that it doubles.
        before = marks.find(self._options.delimiter.encode()) | marks.find(b"\n")
        if self._escape == self._quote:
            before |= quotes
        if (quotes & inside & ~bitmaps.mark_following(before, first=True)).any():
            return False
        if eol == b"\n" and b"\r" not in data:
            return True
        returns, newlines = marks.find(b"\r") & ~inside, marks.find(b"\n") & ~inside
        if eol == b"\n":
            return not returns.any()
        return bool((bitmaps.mark_following(returns, first=False) == newlines).all())

    def _check_text(self, data: bytes, eol: bytes) -> tuple[bool, bool]:
        if not (_has_only_crlf(data) if eol == b"\r\n" else b"\r" not in data):
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
        if any(_is_escape(data, place) for place in hidden.tolist()):
            return False, False
        return True, not (self._options.null == "\\N" and _has_only_nulls(view, places, delimiter))


def _contains(column: pa.StringArray, char: bytes) -> bool:
    """Returns whether a character occurs in any of the values."""
    values = column.buffers()[2]
    return values is not None and char in values.to_pybytes()


def _has_only_crlf(data: bytes) -> bool:
    """Returns whether carriage returns and newlines occur only in pairs."""
    pairs = data.count(b"\r\n")
    return data.count(b"\r") == pairs == data.count(b"\n")


def _is_escape(data: bytes, place: int) -> bool:
    """Returns whether the backslash at a position is not escaped itself: it is the last of an odd number."""
    first = place
    while first and data[first - 1] == _BACKSLASH:
        first -= 1
    return (place - first) % 2 == 0


def _has_only_nulls(view: npt.NDArray[np.uint8], places: npt.NDArray[np.int64], delimiter: int) -> bool:
    r"""Returns whether every backslash belongs to a field `\N`."""
    if (view[places + 1] != ord("N")).any():
        return False
    before = view[np.maximum(places, 1) - 1]
    starts = (before == delimiter) | (before == _NEWLINE)
    starts[0] |= places[0] == 0
    last = np.minimum(places + 2, len(view) - 1)
    after = view[last]
    ends = (after == delimiter) | (after == _NEWLINE) | (after == _RETURN) | (places + 2 >= len(view))
    return bool(starts.all() and ends.all())


def _unescape_column(column: pa.StringArray) -> pa.StringArray:
    behind = pc.fill_null(pc.match_substring(column, "\\"), False)
    if not pc.any(behind).as_py():
        return column
    texts = [unescape(text) for text in column.filter(behind).to_pylist()]
    return pc.replace_with_mask(column, behind, pa.array(texts, pa.string()))


def finish_text(type_: SqlType, column: pa.StringArray) -> pa.Array | None:
    """Returns a column of text in its final form; None if its type is not text, or a value is too long."""
    return check_length(type_, column) if type_.name in _TEXT else None
