"""Trigger functions in PL/Python: the dictionary TD, and what a call's result means for the row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gpudb.errors import SqlError
from gpudb.plpgsql.records import NullRecord, Record, new_record
from gpudb.types import SqlType

_IGNORED = 'PL/Python trigger function returned "MODIFY" in a DELETE trigger -- ignored'


class PythonTrigger:
    """Calls of a trigger function for rows of the type `row` (see `languages.TriggerCalls`)."""

    def __init__(
        self,
        call: Callable[[tuple[object, ...]], Any],
        row: SqlType,
        variables: Mapping[str, object],
        zone: str,
    ) -> None:
        """`call` runs the body with the fields of TD, and the new and the old row; it returns a verdict and a row."""
        self._call, self._row, self._variables, self._zone = call, row, variables, zone

    def run(self, new: Record, old: Record) -> Record | None:
        """Calls the function: returns the row to go on with, None to skip it."""
        event = str(self._variables["tg_op"])
        is_row = self._variables["tg_level"] == "ROW"
        fields = {
            "name": self._variables["tg_name"],
            "relid": str(self._variables["tg_relid"]),
            "table_name": self._variables["tg_table_name"],
            "table_schema": self._variables["tg_table_schema"],
            "when": self._variables["tg_when"],
            "level": self._variables["tg_level"],
            "event": event,
            "args": self._variables["tg_argv"],
        }
        verdict, row = self._call((fields, _values(new), _values(old)))
        if not is_row or self._variables["tg_when"] == "AFTER":
            return None
        current = old if event == "DELETE" else new
        if verdict == "SKIP":
            return None
        if verdict != "MODIFY":
            return current
        if event == "DELETE":
            raise SqlError.of("feature_not_supported", _IGNORED)
        return new_record(self._row.fields, row)


def _values(record: Record) -> tuple[object, ...] | None:
    return None if isinstance(record, NullRecord) else tuple(map(_plain, record.values))


def _plain(value: object) -> object:
    return tuple(map(_plain, value.values)) if isinstance(value, Record) else value
