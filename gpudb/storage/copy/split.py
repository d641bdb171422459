"""Splits the stream of COPY data into blocks of whole rows, of about BLOCK_BYTES, without parsing the rows."""

from __future__ import annotations

import codecs
from collections.abc import Iterator

from gpudb.errors import SqlError
from gpudb.storage.copy.byte_probes import count_byte
from gpudb.storage.copy.errors import RowError
from gpudb.storage.copy.exact_reader import Scanner
from gpudb.storage.copy.options import CopyOptions
from gpudb.storage.copy.plain_lines import PlainLines
from gpudb.storage.copy.reader import Block

BLOCK_BYTES = 2 << 20
ROW_LIMIT = 1 << 30
"""Longer rows are refused, as by PostgreSQL's line buffer."""


class Splitter:
    """Splits input of any chunk size into blocks of whole rows."""

    def __init__(self, options: CopyOptions, block_bytes: int = BLOCK_BYTES) -> None:
        self._options = options
        self._csv = options.format == "csv"
        self._quote = options.quote.encode()
        self._escape = options.escape.encode()
        self._block_bytes = block_bytes
        self._min_bytes = block_bytes
        self._pending: list[bytes] = []
        self._size = 0
        self._quotes = 0
        self._first = True
        self._eol: bytes | None = None
        self._decoder = None if options.is_utf8 else codecs.getincrementaldecoder(options.encoding)()
        self._lines = 0
        left_out = options.skip or options.comment
        self._plain = PlainLines(options.skip, options.comment, options.quote, options.blank) if left_out else None

    def feed(self, data: bytes) -> Iterator[Block]:
        """Yields the blocks that `data` completes; raises 22021 for an invalid encoding, 54000 for a row that is too
        long.
        """
        if self._decoder is not None:
            data = self._to_utf8(data, final=False)
        if self._plain is not None:
            data = self._plain.feed(data)
        self._add(data)
        if self._size >= self._min_bytes:
            yield from self._cut()

    def _add(self, data: bytes) -> None:
        self._pending.append(data)
        self._size += len(data)
        if self._csv:
            self._quotes += count_byte(data, self._quote)

    def finish(self) -> Iterator[Block]:
        """Yields the last block; there is always at least one block."""
        rest = self._to_utf8(b"", final=True) if self._decoder is not None else b""
        if self._plain is not None:
            rest = self._plain.feed(rest) + self._plain.finish()
        self._pending.append(rest)
        data = b"".join(self._pending)
        self._pending, self._size = [], 0
        if data or self._first:
            yield self._block(data)

    def _cut(self) -> Iterator[Block]:
        # Usually a row ends in the last piece: then the data are copied once.
        *before, piece = self._pending
        if end := self._ends_in(piece):
            self._min_bytes = self._block_bytes
            self._restart(piece[end:])
            yield self._block(b"".join([*before, memoryview(piece)[:end]]))
            return
        data = b"".join(self._pending)
        end = self._last_row_end(data)
        if end == 0:
            if len(data) > ROW_LIMIT:
                message = f"a row of COPY data is longer than {ROW_LIMIT} bytes"
                raise SqlError.of("program_limit_exceeded", message)
            # Waits longer for the end, so that a long row is not searched repeatedly.
            self._min_bytes = 2 * len(data)
            self._restart(data)
            return
        self._min_bytes = self._block_bytes
        self._restart(data[end:])
        yield self._block(data[:end])

    def _restart(self, rest: bytes) -> None:
        self._pending, self._size, self._quotes = [], 0, 0
        self._add(rest)

    def _block(self, data: bytes) -> Block:
        if self._eol is None:
            self._eol = detect_eol(self._options, data, final=True)
        first, self._first = self._first, False
        return Block(data, self._eol, first)

    def _to_utf8(self, data: bytes, final: bool) -> bytes:
        assert self._decoder is not None
        try:
            text = self._decoder.decode(data, final)
        except UnicodeDecodeError as error:
            wrong = " ".join(f"0x{byte:02x}" for byte in error.object[error.start : error.start + 1])
            message = f'invalid byte sequence for encoding "{self._options.encoding_name}": {wrong}'
            line = self._lines + error.object[: error.start].count(b"\n") + 1
            raise RowError(SqlError.of("character_not_in_repertoire", message), line) from None
        except UnicodeError:  # UTF-16 without a byte order mark
            message = f'data in the encoding "{self._options.encoding_name}" have no byte order mark'
            hint = "The encoding UTF-16LE or UTF-16BE says the order."
            raise RowError(SqlError.of("character_not_in_repertoire", message, hint=hint), 1) from None
        self._lines += text.count("\n")
        return text.encode()

    # ---- end of the last whole row

    def _ends_in(self, piece: bytes) -> int:
        """Returns the end of the last whole row in the last piece; 0 if earlier pieces must be inspected."""
        if self._eol is None:
            return 0
        at = piece.rfind(self._eol[-1:])
        if at < 2:
            return 0
        if self._csv:
            outside = (self._quotes - piece.count(self._quote, at)) % 2 == 0
            return at + 1 if outside and self._escape == self._quote else 0
        return at + 1 if b"\\" not in piece[at - 2 : at] else 0

    def _last_row_end(self, data: bytes) -> int:
        if self._eol is None:
            self._eol = detect_eol(self._options, data, final=False)
        if self._eol is None:
            return 0
        last = self._eol[-1:]
        if not self._csv:
            return self._unescaped(data, last)
        if self._escape != self._quote and self._escape in data:
            return self._scanned(data)
        return self._unquoted(data, last)

    def _unescaped(self, data: bytes, last: bytes) -> int:
        at = len(data)
        while (at := data.rfind(last, 0, at)) >= 0:
            end = at - (self._eol == b"\r\n" and data[at - 1 : at] == b"\r")
            before = end
            while before and data[before - 1] == 0x5C:
                before -= 1
            if (end - before) % 2 == 0:
                return at + 1
        return 0

    def _unquoted(self, data: bytes, last: bytes) -> int:
        quotes, end = count_byte(data, self._quote), len(data)
        while (at := data.rfind(last, 0, end)) >= 0:
            quotes -= data.count(self._quote, at, end)
            if quotes % 2 == 0:
                return at + 1
            end = at
        return 0

    def _scanned(self, data: bytes) -> int:
        """Scans row by row, which an escape that differs from the quote requires."""
        end = 0
        try:
            for line in Scanner(self._options, self._eol).lines(data):
                after = line.end + len(self._eol or b"")
                if after > len(data):
                    break
                end = after
        except RowError:
            # The reader raises the same error, and knows its line.
            return end or len(data)
        return end


def detect_eol(options: CopyOptions, data: bytes, final: bool) -> bytes | None:
    """Returns the first line's ending; None if it is not known yet."""
    scanner = Scanner(options, None)
    try:
        line = next(scanner.lines(data), None)
    except RowError:
        # The reader raises the same error; but more data may complete a marker at the end.
        return None if not final and b"\\." in data[-3:] else b"\n"
    if scanner.eol == b"\r" and not final and line is not None and line.end + 1 == len(data):
        return None  # it may be half of a pair
    return scanner.eol
