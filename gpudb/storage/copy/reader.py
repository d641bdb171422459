"""Converts a block of the text or csv format to a batch: the fast way where it is certain, else the exact way.

fast    pyarrow splits rows and parses most numbers itself; other columns are converted from text
exact   rows and fields one by one; only this way knows lines, and so locates every error
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.catalog.tables import Column
from gpudb.errors import GpudbError, SqlError
from gpudb.storage.copy.byte_probes import ByteProbes, count_byte
from gpudb.storage.copy.conversion import Clock, ConvertedColumn, convert_any_text
from gpudb.storage.copy.errors import RowError, bad_format_error
from gpudb.storage.copy.exact_reader import DEFAULT, Field, FieldSplitter, Line, Scanner
from gpudb.storage.copy.fast_reader import FastReader, finish_text
from gpudb.storage.copy.options import Columns, CopyOptions
from gpudb.storage.copy.written_values import find_conversion


@dataclass(frozen=True, slots=True)
class Block:
    """Whole rows. `eol` is their line ending (None: no line has ended); the `first` block contains the header, if
    any.
    """

    data: bytes
    eol: bytes | None
    first: bool = False

    @property
    def size(self) -> int:
        """The bytes of the rows."""
        return len(self.data)

    def detach(self) -> Block:
        """Returns it as a call has it, whose data are sent beside it."""
        return replace(self, data=b"")


@dataclass(slots=True)
class ParsedRows:
    """Result of a block: `columns` of the data's columns, in its order.

    `lines` is the number of physical lines of the block, `skipped` the number of rows left out for their errors,
    `notes` (line, column, text) describes each, `kept` has the numbers of the other rows (None: all). `defaulted` marks
    rows that request a column's default. `ended`: the end-of-data marker was read.
    """

    columns: list[pa.Array]
    rows: int
    lines: int
    skipped: int = 0
    kept: list[int] | None = None
    notes: list[tuple[int, str, str | None]] = field(default_factory=list)
    defaulted: dict[int, pa.BooleanArray] = field(default_factory=dict)
    ended: bool = False


class RowReader:
    """Reads the blocks of one COPY FROM; thread-safe.

    `columns` are the table's columns that the data have, in their order; `with_default` names those that have a
    default.
    """

    def __init__(
        self, columns: Sequence[Column], options: CopyOptions, clock: Clock, with_default: frozenset[str]
    ) -> None:
        self._columns = tuple(columns)
        self._types = tuple(column.type for column in columns)
        options = options.for_width(len(columns))
        self._options = options
        self._clock = clock
        self._with_default = with_default
        self._fields = FieldSplitter(options)
        self._force_null = self._column_numbers(options.force_null)
        self._force_not_null = self._column_numbers(options.force_not_null)
        self._written = {
            number: convert
            for number, type_ in enumerate(self._types)
            if (convert := find_conversion(type_, options)) is not None
        }
        self._as_text = self._force_null | self._force_not_null | self._written.keys()
        self._fast_reader = FastReader(self._types, options, self._as_text)

    def _column_numbers(self, names: Columns) -> frozenset[int]:
        return frozenset(n for n, c in enumerate(self._columns) if names == "*" or c.name in names)

    def read(self, block: Block) -> ParsedRows:
        """Returns the block's rows; raises RowError with a line counted from the block's first."""
        data, header = block.data, 0
        first = block.first
        if block.first and self._options.header != "none":
            header, data = self._skip_header(block)
            first = header == 0
        eol = block.eol
        sure, undo = (False, False) if eol is None else self._fast_reader.check(data, eol)
        if eol is not None and sure:
            signs = ByteProbes(data)
            found = self._read_fast(data, eol, undo, signs)
            if found is not None:
                found.lines = header + self._count_lines(data, eol, first, signs)
                return found
        return self._read_exact(data, block.eol, header, first)

    def _count_lines(self, data: bytes, eol: bytes, first: bool, signs: ByteProbes) -> int:
        """Returns how many lines PostgreSQL counts in rows that are read the fast way."""
        if not data:
            return 0
        lines = len(signs.newlines) if eol == b"\n" else count_byte(data, eol[:1])
        lines += not data.endswith(eol)
        if first and not self._starts_plainly(data, eol):
            line = next(Scanner(self._options, eol, first).lines(data), None)
            lines += 0 if line is None else line.number - 1 - line.raw.count(eol[:1])
        return lines

    def _starts_plainly(self, data: bytes, eol: bytes) -> bool:
        """Returns whether the first line ends at the first newline, whatever it means inside quotes."""
        end = data.find(b"\n")
        marks = b"\r", b"\\", self._options.quote.encode()
        return eol == b"\n" and end >= 0 and not any(mark in data[:end] for mark in marks)

    # ---- the header

    def _skip_header(self, block: Block) -> tuple[int, bytes]:
        """Returns the number of the header's physical lines, and the data after it."""
        scanner = Scanner(self._options, block.eol, first=True)
        after, number, left = 0, 0, self._options.header_lines
        for line in scanner.lines(block.data):
            if self._is_left_out(line):
                continue
            if self._options.header == "match":
                self._match_header(line, block.data)
            after = line.end + len(block.eol or b"")
            number = line.number
            left -= 1
            if not left:
                break
        if number == 0 and not scanner.ended and self._options.header == "match":
            self._match_header(Line(1, b""), b"")
        return number, block.data[after:] if not scanner.ended else b""

    def _is_left_out(self, line: Line) -> bool:
        """Returns whether a line is no row."""
        return self._options.skip_empty and line.raw == self._options.blank.encode()

    def _match_header(self, line: Line, data: bytes) -> None:
        fields = self._fields.split(line, data[line.end : line.end + 4])
        raw = line.raw.decode(errors="replace")
        if len(fields) != len(self._columns):
            message = f"wrong number of fields in header line: got {len(fields)}, expected {len(self._columns)}"
            raise RowError(bad_format_error(message), line.number, raw=raw)
        for number, (name, column) in enumerate(zip(fields, self._columns), 1):
            start = f"column name mismatch in header line field {number}: "
            if not isinstance(name, str):
                shown = f'got null value ("{self._options.null}")'
                raise RowError(bad_format_error(f'{start}{shown}, expected "{column.name}"'), line.number, raw=raw)
            if name != column.name:
                raise RowError(bad_format_error(f'{start}got "{name}", expected "{column.name}"'), line.number, raw=raw)

    # ---- fast

    def _read_fast(self, data: bytes, eol: bytes, undo: bool, signs: ByteProbes) -> ParsedRows | None:
        if not data:
            return ParsedRows([pa.nulls(0, type_.arrow) for type_ in self._types], 0, 0)
        found = self._fast_reader.columns(data, eol, undo, signs)
        if found is None:
            return None
        columns = []
        for number, (type_, column) in enumerate(zip(self._types, found)):
            if not self._fast_reader.is_final(number, column):
                made = finish_text(type_, column) if number not in self._as_text else None
                if made is None:
                    converted = self._convert_texts(number, self._apply_force(number, column))
                    if converted.errors:
                        return None
                    made = converted.values
                column = made
            columns.append(column)
        return ParsedRows(columns, len(columns[0]), 0)

    def _convert_texts(self, number: int, texts: pa.StringArray) -> ConvertedColumn:
        convert = self._written.get(number)
        return (
            convert_any_text(self._types[number], texts, self._clock)
            if convert is None
            else convert(texts, self._clock)
        )

    def _apply_force(self, number: int, column: pa.StringArray) -> pa.StringArray:
        null = self._options.null
        found = column
        if number in self._force_null:
            found = pc.if_else(pc.equal(column, null), None, column)
        if number in self._force_not_null and column.null_count:
            found = pc.if_else(pc.is_null(column), null, found)
        return found

    # ---- exact

    def _rows(self, data: bytes, scanner: Scanner, ragged: list[RowError]) -> Iterator[tuple[Line, list[Field]]]:
        """Yields rows with their fields, one per column; raises RowError for any other number, or adds it to `ragged`
        if such rows are skipped.
        """
        width = len(self._columns)
        for line in scanner.lines(data):
            if self._is_left_out(line):
                continue
            fields = self._fields.split(line, data[line.end : line.end + 4])
            if len(fields) < width and self._options.null_padding:
                fields += [None] * (width - len(fields))
            if len(fields) != width:
                error = self._width_error(line, len(fields))
                if not self._options.skip_ragged:
                    raise error
                ragged.append(error)
                continue
            if self._force_null or self._force_not_null:
                self._force(fields)
            yield line, fields

    def _width_error(self, line: Line, count: int) -> RowError:
        raw = line.raw.decode()
        if count > len(self._columns):
            return RowError(bad_format_error("extra data after last expected column"), line.number, raw=raw)
        column = self._columns[count].name
        hint = "With null_padding a short row ends in NULLs." if self._options.skip_empty else None
        return RowError(bad_format_error(f'missing data for column "{column}"', hint), line.number, raw=raw)

    def _force(self, fields: list[Field]) -> None:
        for number, value in enumerate(fields):
            if value is None and number in self._force_not_null:
                fields[number] = self._options.null
            elif number in self._force_null and value == self._options.null:
                fields[number] = None

    def _read_exact(self, data: bytes, eol: bytes | None, header: int, first: bool) -> ParsedRows:
        scanner = Scanner(self._options, eol, first)
        lines: list[Line] = []
        rows: list[list[Field]] = []
        ragged: list[RowError] = []
        broken: RowError | None = None
        try:
            for line, fields in self._rows(data, scanner, ragged):
                self._check_defaults(line, fields)
                lines.append(line)
                rows.append(fields)
        except RowError as error:
            broken = error
        found = self._convert(lines, rows, header)
        if broken is not None:
            broken.line += header
            raise broken
        found.lines = header + scanner.number
        found.ended = scanner.ended
        if ragged:
            found.skipped += len(ragged)
            found.notes += [(header + error.line, "", error.raw) for error in ragged]
            found.notes.sort(key=lambda note: note[0])
        return found

    def _check_defaults(self, line: Line, fields: list[Field]) -> None:
        if self._options.default is None:
            return
        for column, value in zip(self._columns, fields):
            if value is DEFAULT and column.name not in self._with_default:
                error = SqlError.of(
                    "bad_copy_file_format",
                    "unexpected default marker in COPY data",
                    detail=f'Column "{column.name}" has no default value.',
                )
                raise RowError(error, line.number, raw=line.raw.decode())

    def _convert(self, lines: list[Line], rows: list[list[Field]], header: int) -> ParsedRows:
        columns: list[pa.Array] = []
        wrong: dict[int, tuple[int, GpudbError]] = {}
        defaulted: dict[int, pa.BooleanArray] = {}
        for number in range(len(self._types)):
            values = [row[number] for row in rows]
            if self._options.default is not None:
                marked = np.fromiter((value is DEFAULT for value in values), bool, len(values))
                if marked.any():
                    defaulted[number] = pa.array(marked)
                    values = [None if value is DEFAULT else value for value in values]
            converted = self._convert_texts(number, pa.array(values, pa.string()))
            columns.append(converted.values)
            for row, error in converted.errors:
                wrong.setdefault(row, (number, error))
        found = ParsedRows(columns, len(rows), 0, defaulted=defaulted)
        if wrong:
            self._take_errors(found, wrong, lines, rows, header)
        return found

    def _take_errors(
        self,
        found: ParsedRows,
        wrong: dict[int, tuple[int, GpudbError]],
        lines: list[Line],
        rows: list[list[Field]],
        header: int,
    ) -> None:
        """Raises the first error, or leaves out the rows with errors."""
        if not self._options.ignore_errors:
            row = min(wrong)
            raise self._error_at(wrong[row], lines[row], rows[row], header)
        for row in sorted(wrong):
            error = self._error_at(wrong[row], lines[row], rows[row], header)
            found.notes.append((error.line, self._columns[wrong[row][0]].name, error.value))
        keep = pa.array([row not in wrong for row in range(len(rows))], pa.bool_())
        found.columns = [column.filter(keep) for column in found.columns]
        found.defaulted = {number: mask.filter(keep) for number, mask in found.defaulted.items()}
        found.skipped = len(wrong)
        found.kept = [row for row in range(len(rows)) if row not in wrong]
        found.rows = len(found.kept)

    def _error_at(self, wrong: tuple[int, GpudbError], line: Line, row: list[Field], header: int) -> RowError:
        number, error = wrong
        value = row[number]
        text = value if isinstance(value, str) else None
        return RowError(error, header + line.number, column=self._columns[number].name, value=text)

    def find_line(self, block: Block, row: int) -> tuple[int, str]:
        """Returns (line, text) of a block's data row, counting from 0."""
        scanner = Scanner(self._options, block.eol, block.first)
        skip = self._options.header_lines if self._options.header != "none" and block.first else 0
        for number, line in enumerate(each for each in scanner.lines(block.data) if not self._is_left_out(each)):
            if number == row + skip:
                return line.number, line.raw.decode(errors="replace")
        return 0, ""
