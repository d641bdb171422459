"""Primary keys: new rows are compared with each other and with the table's, over the key columns alone.

Files whose minima and maxima rule a clash out are not read; a key that only grows costs next to nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import duckdb

from gpudb.catalog.model import DataFile, Table
from gpudb.errors import SqlError
from gpudb.storage.scan import data_errors, scan_sql


class KeyChecker:
    """Runs the comparisons on a DuckDB of its own; safe from several threads."""

    def __init__(self, spill: Path, memory_limit: str = "2GB") -> None:
        """`spill` is a folder for what does not fit into `memory_limit`; made when it is needed."""
        self._settings = {
            "temp_directory": str(spill),
            "memory_limit": memory_limit,
            "preserve_insertion_order": "false",
        }
        self._guard = threading.Lock()
        self._connection: duckdb.DuckDBPyConnection | None = None

    def check(
        self, table: Table, new: Sequence[DataFile], existing: Sequence[DataFile], *, distinct: bool = False
    ) -> None:
        """23505 if a key of `new` files is there twice, in them or in `existing`.

        Of `table` only the columns count. `distinct` says that no two keys of `new` are alike.
        """
        if not table.primary_key or not new:
            return
        keys = ", ".join(_names(table))
        fresh = _keys(table, new)
        message = 'duplicate key value violates unique constraint "{}"'
        if not distinct and sum(file.rows for file in new) > 1:
            twice = f"SELECT {keys} FROM ({fresh}) GROUP BY ALL HAVING count(*) > 1 LIMIT 1"
            self._raise_for(table, twice, message, "already exists")
        near = [file for file in existing if _may_share(table, file, new)]
        if near:
            both = f"SELECT {keys} FROM ({_keys(table, near)}) SEMI JOIN ({fresh}) USING ({keys}) LIMIT 1"
            self._raise_for(table, both, message, "already exists")

    def check_new_key(self, table: Table) -> None:
        """23505 if a table's rows do not allow the primary key that it is given now."""
        keys = ", ".join(_names(table))
        twice = f"SELECT {keys} FROM ({_keys(table, table.files)}) GROUP BY ALL HAVING count(*) > 1 LIMIT 1"
        self._raise_for(table, twice, 'could not create unique index "{}"', "is duplicated")

    def check_no_nulls(self, table: Table, column: str) -> None:
        """23502 if a column that becomes NOT NULL holds a NULL."""
        rows = scan_sql(table, columns=(column,))
        if self._first(f"SELECT 1 FROM ({rows}) WHERE {_quoted(column)} IS NULL LIMIT 1") is not None:
            message = f'column "{column}" of relation "{table.name}" contains null values'
            raise SqlError.of("not_null_violation", message)

    def _raise_for(self, table: Table, sql: str, message: str, how: str) -> None:
        # As text, in SQL: Python has no word for some timestamps.
        carried = {column.name for column in table.columns if column.type.carried}
        texts = ", ".join(
            f"rtrim(rtrim({short}::VARCHAR, '0'), '.')" if name in carried else f"{short}::VARCHAR"
            for name, short in zip(table.primary_key, _names(table))
        )
        found = self._first(f"SELECT {texts} FROM ({sql})")
        if found is not None:
            name = table.primary_key_name or f"{table.name}_pkey"
            columns, values = ", ".join(table.primary_key), ", ".join(str(value) for value in found)
            detail = f"Key ({columns})=({values}) {how}."
            raise SqlError.of("unique_violation", message.format(name), detail=detail)

    def _first(self, sql: str) -> tuple[object, ...] | None:
        with self._guard:
            if self._connection is None:
                self._connection = duckdb.connect(config=dict(self._settings))
                self._connection.execute("SET TimeZone = 'UTC'")
            cursor = self._connection.cursor()
        with data_errors(), cursor:
            return cursor.execute(sql).fetchone()

    def close(self) -> None:
        """Frees what DuckDB holds."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _names(table: Table) -> list[str]:
    return [f"k{number}" for number in range(len(table.primary_key))]


def _keys(table: Table, files: Sequence[DataFile]) -> str:
    """The keys of files, under the names of `_names`."""
    types = {column.name: column.type for column in table.columns}
    # 1.5 and 1.50 are equal: a carried numeric's display scale does not count.
    parts = [f"{_quoted(name)}{'.v' if types[name].carried else ''}" for name in table.primary_key]
    outputs = ", ".join(f"{part} AS {name}" for part, name in zip(parts, _names(table)))
    return f"SELECT {outputs} FROM ({scan_sql(table, files, columns=table.primary_key)})"


def _may_share(table: Table, file: DataFile, others: Sequence[DataFile]) -> bool:
    return any(_overlap(table, file, other) for other in others)


def _overlap(table: Table, one: DataFile, other: DataFile) -> bool:
    for column in table.columns:
        if column.name not in table.primary_key:
            continue
        field = column.field_id
        low, high = one.minimums.get(field), one.maximums.get(field)
        other_low, other_high = other.minimums.get(field), other.maximums.get(field)
        if high is not None and other_low is not None and high < other_low:  # type: ignore[operator]
            return False
        if low is not None and other_high is not None and other_high < low:  # type: ignore[operator]
            return False
    return True


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
