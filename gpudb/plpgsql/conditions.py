"""Conditions of EXCEPTION and RAISE, and the parts of an error that GET STACKED DIAGNOSTICS reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpudb.errors import GpudbError, SqlError, sqlstates
from gpudb.sql.parse.nesting import nesting_error

_NOT_OTHERS = {"57014", "P0004"}
_OBJECTS = {
    "column": "column",
    "constraint": "constraint",
    "datatype": "datatype",
    "table": "table",
    "schema": "schema",
}
_ITEMS: dict[str, Callable[[GpudbError], str | None]] = {
    "returned_sqlstate": lambda error: error.sqlstate,
    "message_text": lambda error: error.message,
    "pg_exception_detail": lambda error: error.detail,
    "pg_exception_hint": lambda error: error.hint,
    "pg_exception_context": lambda error: error.where,
    "column_name": lambda error: error.objects.get("column"),
    "constraint_name": lambda error: error.objects.get("constraint"),
    "pg_datatype_name": lambda error: error.objects.get("datatype"),
    "table_name": lambda error: error.objects.get("table"),
    "schema_name": lambda error: error.objects.get("schema"),
}


def matches(error: GpudbError, conditions: Sequence[str]) -> bool:
    """Whether an error is one of the conditions, given as SQLSTATEs; "" is OTHERS, xx000 the whole class."""
    state = error.sqlstate
    return any(
        each == state or (not each and state not in _NOT_OTHERS) or (each.endswith("000") and each[:2] == state[:2])
        for each in conditions
    )


def as_sql_error(error: BaseException) -> GpudbError | None:
    """Returns the SQL error that an exception stands for; None for one that no handler may catch."""
    if isinstance(error, GpudbError):
        return error
    return nesting_error() if isinstance(error, RecursionError) else None


def read_item(error: GpudbError, item: str) -> str:
    """Returns an item of GET STACKED DIAGNOSTICS; '' if the error lacks it."""
    return _ITEMS[item](error) or ""


def resolve_state(code: str) -> str:
    """Returns the SQLSTATE of a code or a condition's name, as RAISE … USING ERRCODE has it; 42704."""
    if len(code) == 5 and code.isascii() and code.isalnum() and code.upper() == code:
        return code
    state = sqlstates().get(code)
    if state is None:
        raise SqlError.of("undefined_object", f'unrecognized exception condition "{code}"')
    return state


def make_error(state: str, message: str, options: dict[str, str]) -> SqlError:
    """Returns the error that RAISE raises."""
    objects = {name: options[key] for key, name in _OBJECTS.items() if key in options}
    error = SqlError.of(
        "raise_exception", message, detail=options.get("detail"), hint=options.get("hint"), objects=objects
    )
    error.sqlstate = state
    return error
