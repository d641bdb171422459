"""Errors in a row of COPY's data, with PostgreSQL's context: table, line, column, text."""

from __future__ import annotations

from gpudb.errors import GpudbError, SqlError

_SHOWN_BYTES = 100


class RowError(Exception):
    """An error at a known place within a block: `line` counts from 1 at the block's first line.

    `raw` is the row's text; `column` names a column, whose text is `value` (None: a NULL). `binary` data have no text.
    """

    def __init__(
        self,
        error: GpudbError,
        line: int,
        raw: str | None = None,
        column: str | None = None,
        value: str | None = None,
        binary: bool = False,
    ) -> None:
        super().__init__(error.message)
        self.error = error
        self.line = line
        self.raw = raw
        self.column = column
        self.value = value
        self.binary = binary

    def __reduce__(self) -> tuple[object, ...]:
        """Returns what a process sends of it."""
        return RowError, (self.error, self.line, self.raw, self.column, self.value, self.binary)

    def with_context(self, source: str, lines_before: int, unit: str = "line") -> GpudbError:
        """Returns the error with its context; `source` is `COPY t` or a file's name, `unit` is what `line` counts."""
        where = f"{source}, {unit} {lines_before + self.line}"
        if self.column is not None:
            where += f", column {self.column}"
            if not self.binary:
                where += ": null input" if self.value is None else f': "{truncate_text(self.value)}"'
        elif self.raw is not None:
            where += f': "{truncate_text(self.raw)}"'
        self.error.where = where
        return self.error


def bad_format_error(message: str, hint: str | None = None) -> SqlError:
    """Returns 22P04: the data do not match the format."""
    return SqlError.of("bad_copy_file_format", message, hint=hint)


def truncate_text(text: str) -> str:
    """Returns the start of a text as messages show it: of at most 100 bytes and an ellipsis."""
    data = text.encode(errors="replace")
    if len(data) <= _SHOWN_BYTES:
        return text
    return data[:_SHOWN_BYTES].decode(errors="ignore") + "..."


def decode_row(data: bytes, line: int, following: bytes = b"") -> str:
    """Decodes a row's text from UTF-8; raises 22021 with PostgreSQL's wording. `following` are the bytes after
    `data`.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        whole = data[error.start :] + following
        raise RowError(_not_utf8_error(whole[: _character_length(whole[0])]), line) from None
    if "\0" in text:
        raise RowError(_not_utf8_error(b"\0"), line)
    return text


def _character_length(first: int) -> int:
    """Returns the length of a character by its first byte."""
    if first & 0xE0 == 0xC0:
        return 2
    if first & 0xF0 == 0xE0:
        return 3
    return 4 if first & 0xF8 == 0xF0 else 1


def _not_utf8_error(wrong: bytes) -> SqlError:
    shown = " ".join(f"0x{byte:02x}" for byte in wrong)
    return SqlError.of("character_not_in_repertoire", f'invalid byte sequence for encoding "UTF8": {shown}')
