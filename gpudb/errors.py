"""One tree of errors; each carries PostgreSQL's SQLSTATE, and a detail, a hint and a position where known.

Raise the narrowest class. A condition without a class of its own is raised by its PostgreSQL name:
`SqlError.of("division_by_zero", "division by zero")`. The names are PostgreSQL's (`pgdata/errcodes.tsv`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import ClassVar

from gpudb import pgdata


@cache
def sqlstates() -> dict[str, str]:
    """Condition name → SQLSTATE, as PostgreSQL 16 lists them."""
    rows = [row for row in pgdata.table("errcodes") if row["condition"]]
    # A name that warnings (01) or routines in other languages (38, 39) have too means the plain error.
    rows.sort(key=lambda row: row["sqlstate"][:2] not in {"01", "38", "39"})
    return {row["condition"]: row["sqlstate"] for row in rows}


class GpudbError(Exception):
    """The base of everything gpudb raises on purpose.

    `position` is a 1-based character offset into the statement's text; None where it is not known yet, 0 where the text
    plays no part.
    `objects` names what the error is about, as far as it has them: schema, table, column, constraint.
    """

    condition: ClassVar[str] = "internal_error"
    routine: ClassVar[str | None] = None
    """PostgreSQL's function that raises it, where clients tell an error by that."""

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
    ) -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail
        self.hint = hint
        self.position = position
        self.where = where
        self.objects = objects or {}
        self.sqlstate = sqlstates()[condition or self.condition]

    def at(self, position: int | None) -> GpudbError:
        """This error, at a position if it has none yet (zero and None mean unknown)."""
        if self.position is None and position:
            self.position = position
        return self


class SqlError(GpudbError):
    """A statement that cannot be answered as it stands."""

    @classmethod
    def of(cls, condition: str, message: str, **more: object) -> SqlError:
        """An error of a named PostgreSQL condition (`undefined_table`, `string_data_right_truncation`, …)."""
        return cls(message, condition=condition, **more)  # type: ignore[arg-type]


class SyntaxError_(SqlError):
    """42601: PostgreSQL's grammar rejects the text."""

    condition = "syntax_error"


class FeatureNotSupported(SqlError):
    """0A000: PostgreSQL has it and gpudb does not. Never ignored, never answered wrongly."""

    condition = "feature_not_supported"


class StalePlan(FeatureNotSupported):
    """0A000: a prepared statement whose columns are others by now. Drivers know it by its routine and prepare again."""

    routine = "RevalidateCachedQuery"


class UndefinedTable(SqlError):
    """42P01."""

    condition = "undefined_table"


class UndefinedColumn(SqlError):
    """42703."""

    condition = "undefined_column"


class UndefinedFunction(SqlError):
    """42883: no function or operator of that name takes those types."""

    condition = "undefined_function"


class UndefinedObject(SqlError):
    """42704: a type, role or setting that does not exist."""

    condition = "undefined_object"


class DuplicateTable(SqlError):
    """42P07."""

    condition = "duplicate_table"


class DatatypeMismatch(SqlError):
    """42804."""

    condition = "datatype_mismatch"


class InvalidText(SqlError):
    """22P02: text that is no value of its type."""

    condition = "invalid_text_representation"


class NumericOutOfRange(SqlError):
    """22003: beyond the type's range, or beyond 38 digits of numeric."""

    condition = "numeric_value_out_of_range"


class QueryCanceled(SqlError):
    """57014: cancelled by the user, or by statement_timeout."""

    condition = "query_canceled"


class OutOfMemory(GpudbError):
    """53200: the statement needs more than its memory limit."""

    condition = "out_of_memory"


class WorkerLost(SqlError):
    """57P01: a worker ended under the statement. The session goes on, unlike one that is itself ended by 57P01."""

    condition = "admin_shutdown"


class InFailedTransaction(SqlError):
    """25P02: a transaction that has failed takes only its end."""

    condition = "in_failed_sql_transaction"


class SerializationFailure(SqlError):
    """40001: another transaction changed the same table first."""

    condition = "serialization_failure"


class InternalError(GpudbError):
    """XX000: a fault of gpudb's own."""
