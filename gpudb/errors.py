"""The errors that gpudb raises: each has PostgreSQL's SQLSTATE, and a detail, hint and position where known.

Raise the narrowest class. A condition without a class of its own is raised by PostgreSQL's name for it:
`SqlError.of("division_by_zero", "division by zero")`. The names are listed in `pgdata/errcodes.tsv`.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import ClassVar
from unicodedata import east_asian_width

from gpudb import pgdata

_FILE_CONDITIONS = {
    errno.ENOENT: "undefined_file",
    errno.EACCES: "insufficient_privilege",
    errno.EPERM: "insufficient_privilege",
    errno.EISDIR: "wrong_object_type",
    errno.ENOSPC: "disk_full",
    errno.EEXIST: "duplicate_file",
}


@cache
def sqlstates() -> dict[str, str]:
    """PostgreSQL 16's SQLSTATE of each condition name."""
    rows = [row for row in pgdata.load_table("errcodes").select("sqlstate", "condition") if row[1]]
    # Some names also belong to a warning (class 01) or an external routine (38, 39); here they mean the plain error.
    rows.sort(key=lambda row: row[0][:2] not in {"01", "38", "39"})
    return {condition: sqlstate for sqlstate, condition in rows}


def find_file_condition(error: OSError) -> str:
    """Returns the name of PostgreSQL's condition for the operating system's error about a file of the server."""
    return _FILE_CONDITIONS.get(error.errno or 0, "io_error")


@dataclass(frozen=True, slots=True)
class ShownValues:
    """The values of a row, as text by column, that an error's detail shows: of a whole row, or of a key.

    `table` is the schema and name of its table if that is not the one in the error's `objects`, `without` the detail
    for who may not read the columns of the key.
    """

    values: Mapping[str, str]
    whole_row: bool = False
    table: tuple[str, str] | None = None
    without: str | None = None


_SHOWN_CHARACTERS, _SHOWN_BEFORE = 100, 60
"""The characters of a long line that are shown, and those of them before the position."""


def point_at(statement: str, position: int) -> list[str]:
    """Returns the line of a statement with a 1-based position, and a caret under the position, as psql prints them."""
    start = statement.rfind("\n", 0, position - 1) + 1
    line = statement[start:].partition("\n")[0].replace("\t", " ")
    head = f"LINE {statement.count(chr(10), 0, start) + 1}: "
    column = position - 1 - start
    if column > _SHOWN_BEFORE:
        line, column = "..." + line[column - _SHOWN_BEFORE + 3 :], _SHOWN_BEFORE
    wide = sum(east_asian_width(each) in "WF" for each in line[:column]) if not line.isascii() else 0
    return [head + line[:_SHOWN_CHARACTERS], " " * (len(head) + column + wide) + "^"]


class GpudbError(Exception):
    """Base class of every error that gpudb raises on purpose.

    `position` is a 1-based character offset into the statement's text; None if it is unknown, 0 if the text is not
    involved. `statement` is that text once the error reaches a user of the Python API: `str` then shows the position
    in it, the detail and the hint. `objects` names the schema, table, column and constraint that the error is about, as
    far as known; `shown` has the values of its row that the detail shows, which not every role may read.
    """

    condition: ClassVar[str] = "internal_error"
    routine: ClassVar[str | None] = None
    """The PostgreSQL function that raises the error, for clients that recognise the error by it."""

    def __init__(
        self,
        message: str,
        *,
        detail: str | None = None,
        hint: str | None = None,
        position: int | None = None,
        condition: str | None = None,
        where: str | None = None,
        objects: Mapping[str, str] | None = None,
        shown: ShownValues | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail
        self.hint = hint
        self.position = position
        self.where = where
        self.has_calls = False
        """Whether `where` has the lines of the routines that were running."""
        self.objects = objects or {}
        self.shown = shown
        self.sqlstate = sqlstates()[condition or self.condition]
        self.statement: str | None = None

    def __str__(self) -> str:
        """The message; with a statement also the line with the position under it, detail and hint, as psql has them."""
        if self.statement is None:
            return self.message
        lines = [self.message]
        if self.position and self.position <= len(self.statement) + 1:
            lines += point_at(self.statement, self.position)
        lines += [f"DETAIL:  {self.detail}"] if self.detail else []
        lines += [f"HINT:  {self.hint}"] if self.hint else []
        return "\n".join(lines)

    def at(self, position: int | None) -> GpudbError:
        """Returns this error with a position, if it has none yet (zero and None mean unknown)."""
        if self.position is None and position:
            self.position = position
        return self


class SqlError(GpudbError):
    """An error in a statement."""

    @classmethod
    def of(cls, condition: str, message: str, **more: object) -> SqlError:
        """Returns an error of a named PostgreSQL condition (`undefined_table`, `string_data_right_truncation`, …)."""
        return cls(message, condition=condition, **more)  # type: ignore[arg-type]


class SyntaxError_(SqlError):
    """42601: PostgreSQL's grammar rejects the text."""

    condition = "syntax_error"


class FeatureNotSupported(SqlError):
    """0A000: PostgreSQL supports it and gpudb does not."""

    condition = "feature_not_supported"


class StalePlan(FeatureNotSupported):
    """0A000: the columns of a prepared statement have changed. Drivers recognise the routine and prepare again."""

    routine = "RevalidateCachedQuery"


class UndefinedTable(SqlError):
    """42P01: an undefined table."""

    condition = "undefined_table"


class UndefinedColumn(SqlError):
    """42703: an undefined column."""

    condition = "undefined_column"


class UndefinedFunction(SqlError):
    """42883: no function or operator of that name takes these types."""

    condition = "undefined_function"


class UndefinedObject(SqlError):
    """42704: a type, role or setting that does not exist."""

    condition = "undefined_object"


class DuplicateTable(SqlError):
    """42P07: a relation that already exists."""

    condition = "duplicate_table"


class DatatypeMismatch(SqlError):
    """42804: a type that does not match."""

    condition = "datatype_mismatch"


class InvalidText(SqlError):
    """22P02: text that is not a value of its type."""

    condition = "invalid_text_representation"


class NumericOutOfRange(SqlError):
    """22003: a value out of the type's range, or a numeric of more than 38 digits."""

    condition = "numeric_value_out_of_range"


NUMERIC_OVERFLOW = "value overflows numeric format"
"""The message for a numeric that has no room in its form."""
LOST_DECIMALS = "A value shows more decimals than the numerics of the statement have."
"""The detail of that message for a value that has too many digits after the point, not before it."""

NOT_FINITE = "The value is not finite."
"""The detail of that message for NaN and the infinities, which no numeric of 128 bits has."""

NARROW_COLUMN = "The value has no room in column "
"""The start of that message's detail, before the name, for a value that a column can hold in the wide form."""


def numeric_overflow(*, lost: bool = False, finite: bool = True) -> NumericOutOfRange:
    """Returns the error of a numeric of more than 38 digits, with `lost` of one whose decimals would be lost."""
    return NumericOutOfRange(NUMERIC_OVERFLOW, detail=LOST_DECIMALS if lost else None if finite else NOT_FINITE)


class QueryCanceled(SqlError):
    """57014: cancelled by the user, or by statement_timeout."""

    condition = "query_canceled"


class OutOfMemory(GpudbError):
    """53200: the statement needs more than its memory limit."""

    condition = "out_of_memory"


class WorkerLost(SqlError):
    """57P01: a worker was lost during the statement. The session continues, unlike one that 57P01 ends."""

    condition = "admin_shutdown"


class DeviceFailed(WorkerLost):
    """57P01: the GPU of a worker failed while the statement ran: by its doing, or by another one's on the worker."""


class WorkerEnded(WorkerLost):
    """58000: the server has ended a worker because of another statement, and this one could not run again."""

    condition = "system_error"


class InFailedTransaction(SqlError):
    """25P02: a failed transaction accepts only its end."""

    condition = "in_failed_sql_transaction"


class SerializationFailure(SqlError):
    """40001: another transaction changed the same table first."""

    condition = "serialization_failure"


class InternalError(GpudbError):
    """XX000: an internal error of gpudb."""
