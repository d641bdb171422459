"""The module `plpy` of bodies: messages, statements, plans, cursors, subtransactions and quoting."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from types import ModuleType, TracebackType
from typing import Any

from gpudb.errors import GpudbError
from gpudb.plpython import questions
from gpudb.plpython.errors import Error, Fatal, SPIError, from_session, spiexceptions
from gpudb.plpython.objects import read_column, to_value
from gpudb.plpython.results import PLyResult
from gpudb.processes import serving
from gpudb.types import SqlType

_FETCH_ROWS = 50
_open_subtransactions = 0


def _ask(question: questions.Question) -> Any:
    try:
        return serving.ask(question)
    except GpudbError as error:
        raise from_session(error) from None


# ------------------------------------------------------------------------------------------------ messages

_FIELDS = ("detail", "hint", "sqlstate", "schema_name", "table_name", "column_name", "datatype_name", "constraint_name")


def _message(arguments: Sequence[Any], given: dict[str, Any], name: str) -> dict[str, Any]:
    """Returns the fields of a message: several arguments show as a tuple, as in PostgreSQL."""
    fields: dict[str, Any] = {}
    for key, value in given.items():
        if key != "message" and key not in _FIELDS:
            raise TypeError(f"'{key}' is an invalid keyword argument for this function")
        fields[key] = None if value is None else str(value)
    if "message" in fields:
        if arguments:
            raise TypeError("argument 'message' given by name and position")
        return fields
    shown = arguments[0] if len(arguments) == 1 else tuple(arguments)
    return {**fields, "message": str(shown)}


def _say(severity: str, *arguments: Any, **given: Any) -> None:
    fields = _message(arguments, given, severity.lower())
    sqlstate = fields.get("sqlstate")
    _check_sqlstate(sqlstate)
    _ask(questions.Say(severity, fields["message"], fields.get("detail"), fields.get("hint"), sqlstate))


def _raise(kind: type[Error], *arguments: Any, **given: Any) -> None:
    fields = _message(arguments, given, "error")
    _check_sqlstate(fields.get("sqlstate"))
    raise kind(**fields)


def _check_sqlstate(sqlstate: str | None) -> None:
    if sqlstate is not None and (len(sqlstate) != 5 or not sqlstate.isalnum() or sqlstate != sqlstate.upper()):
        raise ValueError("invalid SQLSTATE code")


# ------------------------------------------------------------------------------------------------ statements


class PLyPlan:
    """A prepared statement."""

    def __init__(self, text: str, types: tuple[SqlType, ...]) -> None:
        self._text, self._types = text, types

    def status(self) -> bool:
        """True: the plan is valid."""
        return True

    def execute(self, arguments: Sequence[Any] | None = None, limit: int = 0) -> PLyResult:
        """Runs the statement."""
        return execute(self, arguments, limit)

    def cursor(self, arguments: Sequence[Any] | None = None) -> PLyCursor:
        """Opens a cursor over the statement."""
        return cursor(self, arguments)

    def _values(self, arguments: Sequence[Any] | None) -> questions.Values:
        given = list(arguments or ())
        if len(given) != len(self._types):
            noun = "argument" if len(self._types) == 1 else "arguments"
            shown = str(arguments) if arguments is not None else ""
            raise TypeError(f"Expected sequence of {len(self._types)} {noun}, got {len(given)}: {shown}")
        try:
            values = [to_value(item, each, _zone()) for item, each in zip(self._types, given, strict=True)]
        except GpudbError as error:
            raise from_session(error) from None
        return tuple(zip(self._types, values, strict=True))


_state = {"zone": "UTC"}


def _zone() -> str:
    return _state["zone"]


def set_zone(zone: str) -> None:
    """Sets the session's TimeZone for values of statements."""
    _state["zone"] = zone


def prepare(query: str, argtypes: Sequence[str] | None = None) -> PLyPlan:
    """plpy.prepare(query [, argtypes])."""
    if not isinstance(query, str):
        raise TypeError("plpy.prepare expected a query string")
    names = tuple(argtypes or ())
    for place, each in enumerate(names):
        if not isinstance(each, str):
            raise TypeError(f"plpy.prepare: type name at ordinal position {place} is not a string")
    return PLyPlan(query, _ask(questions.Prepare(query, names)))


def execute(query: str | PLyPlan, arguments: Any = None, limit: int = 0) -> PLyResult:
    """plpy.execute(query [, limit]) or plpy.execute(plan [, arguments [, limit]])."""
    if isinstance(query, str):
        if arguments is not None and not isinstance(arguments, int):
            raise TypeError("plpy.execute expected a query or a plan")
        return _read(_ask(questions.Execute(query, (), arguments or limit)))
    if not isinstance(query, PLyPlan):
        raise Error("plpy.execute expected a query or a plan")
    return _read(_ask(questions.Execute(query._text, query._values(arguments), limit)))


def _read(answer: questions.Answer) -> PLyResult:
    if answer.columns is None or answer.rows is None:
        return PLyResult(answer.status, answer.count, None, [])
    zone = _zone()
    names = [name for name, _ in answer.columns]
    lists = [
        read_column(item, column.combine_chunks(), zone)
        for (_, item), column in zip(answer.columns, answer.rows.columns, strict=True)
    ]
    rows = [dict(zip(names, row, strict=True)) for row in zip(*lists, strict=True)]
    return PLyResult(answer.status, answer.count, answer.columns, rows)


class PLyCursor:
    """An open cursor over the rows of a query."""

    def __init__(self, name: str) -> None:
        self._name: str | None = name
        self._rows: Iterator[dict[str, Any]] = iter(())

    def fetch(self, count: int) -> PLyResult:
        """Returns at most so many next rows."""
        if self._name is None:
            raise ValueError("fetch from a closed cursor")
        return _read(_ask(questions.Fetch(self._name, count)))

    def close(self) -> None:
        """Closes the cursor."""
        if self._name is not None:
            _ask(questions.Close(self._name))
            self._name = None

    def __iter__(self) -> PLyCursor:
        return self

    def __next__(self) -> dict[str, Any]:
        if self._name is None:
            raise ValueError("iterating a closed cursor")
        row = next(self._rows, None)
        if row is None:
            self._rows = iter(self.fetch(_FETCH_ROWS))
            row = next(self._rows, None)
        if row is None:
            raise StopIteration
        return row


def cursor(query: str | PLyPlan, arguments: Sequence[Any] | None = None) -> PLyCursor:
    """plpy.cursor(query) or plpy.cursor(plan [, arguments])."""
    if isinstance(query, str):
        return PLyCursor(_ask(questions.Open(query)))
    if not isinstance(query, PLyPlan):
        raise Error("plpy.cursor expected a query or a plan")
    return PLyCursor(_ask(questions.Open(query._text, query._values(arguments))))


# ------------------------------------------------------------------------------------------------ transactions


class PLySubtransaction:
    """A block whose statements take effect together, or not at all."""

    def __init__(self) -> None:
        self._state = "new"

    def enter(self) -> PLySubtransaction:
        """Begins the subtransaction."""
        global _open_subtransactions
        if self._state != "new":
            raise ValueError(f"this subtransaction has already been {self._past()}")
        _ask(questions.Subtransaction("begin"))
        self._state = "open"
        _open_subtransactions += 1
        return self

    def exit(self, kind: type[BaseException] | None, error: object, traceback: TracebackType | None) -> None:
        """Ends it: what it did is undone if there is an exception."""
        global _open_subtransactions
        if self._state == "new":
            raise ValueError("this subtransaction has not been entered")
        if self._state != "open":
            raise ValueError("this subtransaction has already been exited")
        if not _open_subtransactions:
            raise ValueError("there is no subtransaction to exit from")
        self._state = "ended"
        _open_subtransactions -= 1
        _ask(questions.Subtransaction("commit" if kind is None else "rollback"))

    def _past(self) -> str:
        return "entered" if self._state == "open" else "exited"

    __enter__, __exit__ = enter, exit


def end_open_subtransactions() -> None:
    """Undoes the subtransactions that a body has left open, with a warning for each."""
    global _open_subtransactions
    while _open_subtransactions:
        _open_subtransactions -= 1
        serving.ask(questions.Say("WARNING", "forcibly aborting a subtransaction that has not been exited"))
        serving.ask(questions.Subtransaction("rollback"))


def _end_transaction(*, commit: bool) -> None:
    _ask(questions.EndTransaction(commit))


# ------------------------------------------------------------------------------------------------ quoting


def quote_literal(text: str) -> str:
    """Returns a text as a literal of SQL."""
    if not isinstance(text, str):
        raise TypeError(f"quote_literal() argument 1 must be str, not {type(text).__name__}")
    mark = " E" if "\\" in text else ""
    return mark.strip() + "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def quote_nullable(text: str | None) -> str:
    """Returns a text as a literal of SQL, None as NULL."""
    return "NULL" if text is None else quote_literal(text)


def quote_ident(text: str) -> str:
    """Returns a text as an identifier of SQL, quoted where that is needed."""
    from gpudb import pgdata

    plain = text.isascii() and text.replace("_", "a").isalnum() and text == text.lower() and not text[:1].isdigit()
    if plain and text and text not in _reserved(pgdata):
        return text
    return '"' + text.replace('"', '""') + '"'


@functools.cache
def _reserved(pgdata: ModuleType) -> frozenset[str]:
    rows = pgdata.load_table("keywords").select("word", "catcode")
    return frozenset(str(word) for word, code in rows if code != "U")


# ------------------------------------------------------------------------------------------------ module


def _make_module() -> ModuleType:
    module = ModuleType("plpy", "What bodies in PL/Python use of the database.")
    for severity in ("debug", "log", "info", "notice", "warning"):
        setattr(module, severity, functools.partial(_say, severity.upper()))
    members = {
        "error": functools.partial(_raise, Error), "fatal": functools.partial(_raise, Fatal), "Error": Error,
        "Fatal": Fatal, "SPIError": SPIError, "spiexceptions": spiexceptions, "execute": execute, "prepare": prepare,
        "cursor": cursor, "subtransaction": PLySubtransaction, "quote_literal": quote_literal,
        "quote_nullable": quote_nullable, "quote_ident": quote_ident,
        "commit": functools.partial(_end_transaction, commit=True),
        "rollback": functools.partial(_end_transaction, commit=False),
    }  # fmt: skip
    vars(module).update(members)
    return module


plpy = _make_module()
