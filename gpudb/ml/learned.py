"""Tables of learned values, one row a key: few rows become a CASE of the statement, more a table that it joins."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa

from gpudb.api.connection import Connection
from gpudb.api.names import quote_identifier
from gpudb.api.relation import Relation
from gpudb.ml.literals import format_value, refer

IN_STATEMENT = 16
"""The most rows that a statement holds itself."""


@dataclass(slots=True, eq=False, weakref_slot=True)
class Learned:
    """Rows of `keys` columns, which are not NULL and unique, then of value columns; all have SQL types.

    `table` are the rows. `rows` are the same where they are few: numbers, and all other values as text.
    """

    keys: int
    names: tuple[str, ...]
    types: tuple[str, ...]
    table: pa.Table | None = None
    rows: list[tuple[Any, ...]] | None = None
    _swapped: Learned | None = field(default=None, repr=False)

    @property
    def is_in_statement(self) -> bool:
        """Whether a statement holds the rows itself."""
        return self.keys == 1 and len(self) <= IN_STATEMENT

    def __len__(self) -> int:
        """The number of rows."""
        return self.table.num_rows if self.table is not None else len(self.rows or ())

    def list_rows(self) -> list[tuple[Any, ...]]:
        """Returns the rows as Python values."""
        if self.rows is None:
            assert self.table is not None
            columns = [column.to_pylist() for column in self.table.columns]
            self.rows = [tuple(map(_to_json, row)) for row in zip(*columns, strict=True)]
        return self.rows

    def swap(self) -> Learned:
        """Returns the same rows with value and key exchanged; there is one of each."""
        if self._swapped is None:
            table = None if self.table is None else self.table.select([1, 0])
            rows = None if self.rows is None else [(value, key) for key, value in self.rows]
            self._swapped = Learned(1, self.names[::-1], self.types[::-1], table, rows)
        return self._swapped

    def write(self, connection: Connection, name: str, *, temporary: bool) -> None:
        """Creates a table of the rows."""
        assert self.table is not None
        columns = ", ".join(f"{quote_identifier(n)} {t}" for n, t in zip(self.names, self.types, strict=True))
        connection.execute(f"CREATE {'TEMPORARY ' if temporary else ''}TABLE {name} ({columns})")
        connection.append(name, self.table)


def learn(relation: Relation, keys: int) -> Learned:
    """Reads a relation whose first `keys` columns are the key."""
    return Learned(keys, relation.columns, tuple(str(each) for each in relation.types), relation.arrow())


class LearnedTables(Protocol):
    """Where a statement finds the learned tables that it joins."""

    def locate(self, learned: Learned) -> str:
        """Returns the name of the table, which is created if it is missing."""


@dataclass(slots=True)
class Lookup:
    """Lookups of learned rows within one query: expressions of their values, and the joins that these need."""

    tables: LearnedTables
    joins: dict[str, str] = field(default_factory=dict)
    """The joins, by the aliases of the learned tables."""
    joined: list[Learned] = field(default_factory=list)
    """The learned rows that are joined: their tables live as long as they do."""

    def find(self, learned: Learned, keys: Sequence[str], missing: Mapping[str, str]) -> dict[str, str]:
        """Returns an expression of each value column, for the key that the expressions `keys` make.

        `missing` has an expression for each value column where there is no such key, or a key is NULL.
        """
        names = learned.names[learned.keys :]
        if learned.is_in_statement:
            return {name: self._case(learned, keys[0], at, missing[name]) for at, name in enumerate(names, 1)}
        alias = f"k{len(self.joins)}"
        on = " AND ".join(f"{refer(n, alias)} = {key}" for n, key in zip(learned.names, keys, strict=False))
        self.joined.append(learned)
        self.joins[alias] = f"LEFT JOIN {self.tables.locate(learned)} AS {alias} ON {on}"
        return {name: f"coalesce({refer(name, alias)}, {missing[name]})" for name in names}

    @staticmethod
    def _case(learned: Learned, key: str, at: int, missing: str) -> str:
        rows = learned.list_rows()
        if not rows:
            return missing
        key_type, type_ = learned.types[0], learned.types[at]
        branches = " ".join(
            f"WHEN {format_value(row[0], key_type)} THEN {format_value(row[at], type_)}" for row in rows
        )
        return f"CASE {key} {branches} ELSE {missing} END"


def _to_json(value: object) -> object:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return str(value)
