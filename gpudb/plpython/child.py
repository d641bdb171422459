"""What the process of a session's routines in Python serves: checks, calls for values, and calls for columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pyarrow as pa

from gpudb.errors import SqlError
from gpudb.plpython import vectors
from gpudb.plpython.definitions import Definition
from gpudb.plpython.errors import to_session
from gpudb.plpython.objects import read_column, to_object, to_row, to_value, write_column
from gpudb.plpython.plpy_module import end_open_subtransactions, set_zone
from gpudb.plpython.procedures import Procedure, compile_body, find_procedure
from gpudb.types import SqlType


def check(definition: Definition) -> None:
    """Compiles a body; 38000."""
    compile_body(definition)


def call(definition: Definition, values: Sequence[Any]) -> pa.Table | None:
    """Calls a routine with values as `gpudb.values` has them: its rows, as columns k1, k2, …; None for no result."""

    def run(procedure: Procedure) -> pa.Table | None:
        types, zone = definition.types, definition.zone
        given = [to_object(item, value, zone) for item, value in zip(types, values, strict=True)]
        with procedure.call(given) as found:
            return _write_rows(definition, found)

    found: pa.Table | None = _guard(definition, run)
    return found


def call_columns(definition: Definition, columns: Sequence[pa.Array], count: int) -> pa.Array:
    """Calls a function of one value for `count` rows: for each, or once if it is vectorised."""

    def run(procedure: Procedure) -> pa.Array:
        ((_, item),) = definition.outputs
        if definition.vectors:
            given = [vectors.read(definition.vectors, each) for each in columns]
            with procedure.call(given) as found:
                return vectors.write(definition, item, found, count)
        zone = definition.zone
        lists = [read_column(kind, each, zone) for kind, each in zip(definition.types, columns, strict=True)]
        rows: Iterable[Sequence[Any]] = zip(*lists, strict=True) if lists else ((),) * count
        is_record, outputs = definition.is_record, definition.outputs
        values = []
        for row in rows:
            with procedure.call(row) as found:
                values.append(_to_single(outputs, found, zone, is_record=is_record)[0])
        return write_column(item, values)

    return _guard(definition, run)


def call_trigger(
    definition: Definition, fields: dict[str, Any], new: Sequence[Any] | None, old: Sequence[Any] | None
) -> tuple[str, tuple[Any, ...] | None]:
    """Calls a trigger function for a row: OK, SKIP or MODIFY, and with that the row that the body has left in TD."""

    def run(procedure: Procedure) -> tuple[str, tuple[Any, ...] | None]:
        outputs, zone = definition.outputs, definition.zone
        row = SqlType("record", fields=tuple(outputs))
        td = {**fields, "new": to_object(row, new, zone), "old": to_object(row, old, zone)}
        with procedure.call((), {"TD": td}) as returned:
            found = returned
        if found is not None and not isinstance(found, str):
            detail = "Expected None or a string."
            raise SqlError.of("data_exception", "unexpected return value from trigger procedure", detail=detail)
        verdict = "OK" if found is None else found.upper()
        if verdict not in {"OK", "SKIP", "MODIFY"}:
            detail = 'Expected None, "OK", "SKIP", or "MODIFY".'
            raise SqlError.of("data_exception", "unexpected return value from trigger procedure", detail=detail)
        return verdict, _read_new(outputs, td, zone) if verdict == "MODIFY" and new is not None else None

    found: tuple[str, tuple[Any, ...] | None] = _guard(definition, run)
    return found


def _read_new(outputs: Sequence[tuple[str, SqlType]], td: dict[str, Any], zone: str) -> tuple[Any, ...]:
    """Returns the row that a body has left in TD["new"]; 42804, 42703."""
    if "new" not in td:
        raise SqlError.of("undefined_object", 'TD["new"] deleted, cannot modify row')
    row = td["new"]
    if not isinstance(row, dict):
        raise SqlError.of("datatype_mismatch", 'TD["new"] is not a dictionary')
    names = {name for name, _ in outputs}
    for key in row:
        if key not in names:
            message = f'key "{key}" found in TD["new"] does not exist as a column in the triggering row'
            raise SqlError.of("undefined_column", message)
    return to_row(outputs, {name: row.get(name) for name, _ in outputs}, zone)


def _guard(definition: Definition, run: Callable[[Procedure], Any]) -> Any:
    """Runs a body; its exceptions become errors of the statement."""
    try:
        set_zone(definition.zone)
        procedure = find_procedure(definition)
        try:
            return run(procedure)
        finally:
            end_open_subtransactions()
    except MemoryError:
        raise
    except BaseException as error:
        raise to_session(error, definition) from None


def _write_rows(definition: Definition, found: Any) -> pa.Table | None:
    outputs, zone = definition.outputs, definition.zone
    match definition.shape:
        case "nothing" | "procedure" if not outputs:
            if found is not None:
                what = "procedure" if definition.shape == "procedure" else 'function with return type "void"'
                raise SqlError.of("datatype_mismatch", f"PL/Python {what} did not return None")
            return None
        case "set":
            if found is None:
                rows = []
            else:
                is_record = definition.is_record
                rows = [_to_single(outputs, each, zone, is_record=is_record) for each in _iterate(found)]
        case _:
            rows = [_to_single(outputs, found, zone, is_record=definition.is_record)]
    columns = [write_column(item, [row[place] for row in rows]) for place, (_, item) in enumerate(outputs)]
    return pa.table(columns, names=[f"k{number}" for number in range(1, len(columns) + 1)])


def _iterate(found: Any) -> Iterable[Any]:
    try:
        items: Iterable[Any] = iter(found)
    except TypeError:
        detail = "PL/Python set-returning functions must return an iterable object."
        raise SqlError.of("datatype_mismatch", "returned object cannot be iterated", detail=detail) from None
    return items


def _to_single(outputs: Sequence[tuple[str, Any]], found: Any, zone: str, *, is_record: bool) -> tuple[Any, ...]:
    """Returns what a call returned as a row of the outputs."""
    if not is_record:
        return (to_value(outputs[0][1], found, zone),)
    return (None,) * len(outputs) if found is None else to_row(outputs, found, zone)
