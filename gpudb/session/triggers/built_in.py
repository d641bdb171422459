"""PostgreSQL's own trigger functions: vectors of full-text search kept with their columns, updates without a change.

Source: PostgreSQL 16's tsvector_update_trigger and suppress_redundant_updates_trigger.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpudb.catalog.model import Catalog
from gpudb.catalog.routines import Routine
from gpudb.catalog.tables import Table
from gpudb.catalog.triggers import BEFORE, INSERT, UPDATE
from gpudb.errors import SqlError
from gpudb.plpgsql.records import Record, new_record, show_value
from gpudb.text_search.configurations import get_configuration, get_configuration_oid
from gpudb.text_search.vectors import collect_lexemes, format_vector
from gpudb.types import SqlType

_TRIGGER = SqlType("trigger")
_OIDS = {
    "suppress_redundant_updates_trigger": 1291,
    "tsvector_update_trigger": 3752,
    "tsvector_update_trigger_column": 3753,
}
_BY_OID = {
    oid: Routine(oid, "pg_catalog", name, "gpudb", (), _TRIGGER, name, language="internal")
    for name, oid in _OIDS.items()
}
_TEXTS = frozenset({"text", "varchar", "bpchar"})


def find_built_in(name: str) -> Routine | None:
    """Returns a trigger function of PostgreSQL's by its name."""
    return _BY_OID.get(_OIDS.get(name, 0))


def find_trigger_function(catalog: Catalog, oid: int) -> Routine | None:
    """Returns the function of a trigger, a user's or PostgreSQL's own."""
    return catalog.find_routine_by_oid(oid) or _BY_OID.get(oid)


class BuiltInTrigger:
    """Calls of such a function for rows of a relation (see `languages.TriggerCalls`).

    `assigned` are the columns that an UPDATE names, None for all.
    """

    def __init__(
        self, routine: Routine, relation: Table, variables: Mapping[str, Any], assigned: frozenset[str] | None
    ) -> None:
        self._name, self._relation, self._variables, self._assigned = routine.name, relation, variables, assigned
        self._places = {column.name: place for place, column in enumerate(relation.columns)}

    def run(self, new: Record, old: Record) -> Record | None:
        """Returns the row to write; None to write none."""
        if self._name == "suppress_redundant_updates_trigger":
            return self._suppress(new, old)
        return self._set_vector(new)

    def _check(self, *events: str, what: str) -> None:
        tests: tuple[tuple[bool, str], ...]
        row, timing = self._variables["tg_level"] == "ROW", self._variables["tg_when"]
        if self._name.startswith("suppress"):
            tests = ((timing == BEFORE, "called before update"), (self._variables["tg_op"] in events, f"called {what}"))
            tests = (*tests, (row, "called for each row"))
            kind = "trigger_protocol_violated"
        else:
            tests = ((row, "fired for row"), (timing == BEFORE, "fired BEFORE event"))
            tests = (*tests, (self._variables["tg_op"] in events, f"fired {what}"))
            kind = "internal_error"
        for holds, must in tests:
            if not holds:
                joint = " " if self._name.startswith("suppress") else ": "
                raise SqlError.of(kind, f"{self._name.removesuffix('_column')}{joint}must be {must}")

    def _suppress(self, new: Record, old: Record) -> Record | None:
        self._check(UPDATE, what="before update")
        shown = ([show_value(item, value, "UTC") for item, value in zip(row.types, row.values, strict=True)]
                 for row in (new, old))  # fmt: skip
        return None if next(shown) == next(shown) else new

    def _set_vector(self, new: Record) -> Record:
        self._check(INSERT, UPDATE, what="for INSERT or UPDATE")
        arguments = self._variables["tg_argv"] or []
        if len(arguments) < 3:
            message = (
                f"{self._name.removesuffix('_column')}: arguments must be tsvector_field, ts_config, text_field1, ...)"
            )
            raise SqlError.of("internal_error", message)
        target = self._find(arguments[0], f'tsvector column "{arguments[0]}" does not exist')
        if self._relation.columns[target].type.name != "tsvector":
            raise SqlError.of("datatype_mismatch", f'column "{arguments[0]}" is not of tsvector type')
        configuration = get_configuration(self._find_configuration(new, arguments[1]))
        is_needed = self._variables["tg_op"] == INSERT or self._assigned is None
        texts: list[str] = []
        for name in arguments[2:]:
            place = self._find(name, f'column "{name}" does not exist')
            if self._relation.columns[place].type.name not in _TEXTS:
                raise SqlError.of("datatype_mismatch", f'column "{name}" is not of a character type')
            is_needed |= self._assigned is not None and name in self._assigned
            if new.values[place] is not None:
                texts.append(str(new.values[place]))
        if not is_needed:
            return new
        values = list(new.values)
        values[target] = format_vector(collect_lexemes(configuration, texts, gap=0))
        return new_record(tuple(zip(new.names, new.types, strict=True)), values)

    def _find(self, name: str, missing: str) -> int:
        if name not in self._places:
            raise SqlError.of("undefined_column", missing)
        return self._places[name]

    def _find_configuration(self, new: Record, name: str) -> int:
        if self._name == "tsvector_update_trigger":
            if "." not in name:
                message = f'text search configuration name "{name}" must be schema-qualified'
                raise SqlError.of("invalid_parameter_value", message)
            return get_configuration_oid(name)
        place = self._find(name, f'configuration column "{name}" does not exist')
        if self._relation.columns[place].type.name != "regconfig":
            raise SqlError.of("datatype_mismatch", f'column "{name}" is not of regconfig type')
        value: Any = new.values[place]
        if value is None:
            raise SqlError.of("null_value_not_allowed", f'configuration column "{name}" must not be null')
        return int(value)
