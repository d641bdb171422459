"""Exceptions of bodies: plpy.Error and its kin, one class a SQLSTATE, and what the client sees of an exception."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from gpudb.errors import GpudbError, SqlError, sqlstates
from gpudb.plpython.definitions import Definition

_OWN = str(Path(__file__).parent)
FILE = "<string>"
"""The file of bodies in tracebacks."""


class Error(Exception):
    """plpy.Error: an error of a body, with the fields of PostgreSQL's errors."""

    sqlstate: str | None = None

    def __init__(
        self,
        message: object = None,
        detail: str | None = None,
        hint: str | None = None,
        sqlstate: str | None = None,
        schema_name: str | None = None,
        table_name: str | None = None,
        column_name: str | None = None,
        datatype_name: str | None = None,
        constraint_name: str | None = None,
    ) -> None:
        super().__init__(*(() if message is None else (message,)))
        self.detail, self.hint = detail, hint
        self.sqlstate = sqlstate or self.sqlstate
        self.schema_name, self.table_name, self.column_name = schema_name, table_name, column_name
        self.datatype_name, self.constraint_name = datatype_name, constraint_name


class Fatal(Error):
    """plpy.Fatal."""


class SPIError(Error):
    """plpy.SPIError: an error of a statement that a body ran."""


for _class in (Error, Fatal, SPIError):
    _class.__module__ = "plpy"


def _make_classes() -> tuple[ModuleType, dict[str, type[SPIError]]]:
    """Returns the module plpy.spiexceptions, and its classes by SQLSTATE."""
    module = ModuleType("plpy.spiexceptions", "One class of exceptions for each SQLSTATE.")
    classes: dict[str, type[SPIError]] = {}
    for condition, sqlstate in sqlstates().items():
        name = "".join(part.capitalize() for part in condition.split("_"))
        made = type(name, (SPIError,), {"sqlstate": sqlstate, "__module__": "spiexceptions"})
        setattr(module, name, made)
        classes.setdefault(sqlstate, made)
    return module, classes


spiexceptions, _CLASSES = _make_classes()


def from_session(error: GpudbError) -> SPIError:
    """Returns an error of the session as the exception that a body sees."""
    made = _CLASSES.get(error.sqlstate, SPIError)(error.message, error.detail, error.hint, error.sqlstate)
    for name, value in error.objects.items():
        setattr(made, f"{name}_name", value)
    return made


def to_session(error: BaseException, definition: Definition) -> GpudbError:
    """Returns an exception of a body as the error that the client sees; its `where` is the traceback."""
    if isinstance(error, GpudbError):  # of a conversion
        error.where = error.where or "while creating return value"
        error.__traceback__ = None
        return error
    message = "".join(_format_head(error))
    more: dict[str, Any] = {}
    if isinstance(error, Error):
        more = {"detail": _text(error.detail), "hint": _text(error.hint)}
        objects = {name: getattr(error, f"{name}_name") for name in _OBJECTS}
        more["objects"] = {name: str(value) for name, value in objects.items() if value is not None}
    made = SqlError.of("external_routine_exception", message, **more)
    if isinstance(error, Error) and error.sqlstate:
        made.sqlstate = error.sqlstate
    made.where = format_traceback(error.__traceback__, definition)
    return made


_OBJECTS = ("schema", "table", "column", "datatype", "constraint")


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _format_head(error: BaseException) -> str:
    kind = type(error)
    module = kind.__module__
    name = kind.__qualname__ if module in {"builtins", "__main__"} else f"{module}.{kind.__qualname__}"
    text = str(error)
    return f"{name}: {text}" if text else name


def format_traceback(traceback: TracebackType | None, definition: Definition) -> str | None:
    """Returns a traceback as PostgreSQL prints it: from the body's own frame on, with the text of its lines."""
    lines = definition.body.split("\n")
    shown: list[str] = []
    where = "PL/Python anonymous code block" if definition.name is None else f'PL/Python function "{definition.name}"'
    while traceback is not None:
        code = traceback.tb_frame.f_code
        is_body = code.co_filename == FILE
        if is_body or (shown and not code.co_filename.startswith(_OWN)):
            place = code.co_name if shown else "<module>"
            number = traceback.tb_lineno - 1 if is_body else traceback.tb_lineno
            shown.append(f"  {where}, line {number}, in {place}")
            if is_body and 0 < number <= len(lines):
                shown.append(f"    {lines[number - 1].strip()}")
        traceback = traceback.tb_next
    return "\n".join(["Traceback (most recent call last):", *shown]) if shown else None
