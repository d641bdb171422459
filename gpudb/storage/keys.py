"""Primary keys and UNIQUE: new rows are compared with each other and with the table's, over the key columns alone.

Files whose minima and maxima rule a clash out are not read; a key that only grows costs next to nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from gpudb.catalog.model import DataFile, Key, Table
from gpudb.catalog.postgres.expressions import quoted_name
from gpudb.errors import SqlError
from gpudb.storage.scan import data_errors, scan_sql
from gpudb.types import TEXT, SqlType
from gpudb.values.columns import text_column


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

        Of `table` only the columns and keys count. `distinct` says that no two primary keys of `new` are alike.
        """
        if not new:
            return
        message = 'duplicate key value violates unique constraint "{}"'
        for number, key in enumerate(table.keys):
            names = ", ".join(key_names(key))
            fresh = keys_sql(table, key, new)
            alone = distinct and number == 0 and bool(table.primary_key)
            if not alone and sum(file.rows for file in new) > 1:
                self._raise_for(table, key, _twice(fresh, names), message, "already exists")
            near = [file for file in existing if _may_share(table, key, file, new)]
            if near:
                same = " AND ".join(f"o.{name} IS NOT DISTINCT FROM f.{name}" for name in key_names(key))
                how = f"USING ({names})" if key.nulls_distinct else f"ON {same}"
                both = f"SELECT {names} FROM ({keys_sql(table, key, near)}) AS o SEMI JOIN ({fresh}) AS f {how} LIMIT 1"
                self._raise_for(table, key, both, message, "already exists")

    def check_new_key(self, table: Table, key: Key) -> None:
        """23505 if a table's rows do not allow a key that it is given now."""
        twice = _twice(keys_sql(table, key, table.files), ", ".join(key_names(key)))
        self._raise_for(table, key, twice, 'could not create unique index "{}"', "is duplicated")

    def check_no_nulls(self, table: Table, column: str) -> None:
        """23502 if a column that becomes NOT NULL holds a NULL."""
        rows = scan_sql(table, columns=(column,))
        if self._first(f"SELECT 1 FROM ({rows}) WHERE {_quoted(column)} IS NULL LIMIT 1") is not None:
            message = f'column "{column}" of relation "{table.name}" contains null values'
            raise SqlError.of("not_null_violation", message)

    def _raise_for(self, table: Table, key: Key, sql: str, message: str, how: str) -> None:
        values = self.found(table, key, sql)
        if values is not None:
            columns = ", ".join(quoted_name(name) for name in key.columns)
            objects = {"schema": table.schema, "table": table.name, "constraint": key.name}
            detail = f"Key ({columns})=({values}) {how}."
            raise SqlError.of("unique_violation", message.format(key.name), detail=detail, objects=objects)

    def found(self, table: Table, key: Key, sql: str) -> str | None:
        """The first row of a query of a key's columns, as messages show it; None if there is none."""
        types = {column.name: column.type for column in table.columns}
        outputs = ", ".join(_shown(types[name], short) for name, short in zip(key.columns, key_names(key)))
        row = self._first(f"SELECT {outputs} FROM ({sql})")
        return None if row is None else shown_key(table, key, row)

    def _first(self, sql: str) -> pa.RecordBatch | None:
        """The first row of a query; None if there is none."""
        with self._guard:
            if self._connection is None:
                self._connection = duckdb.connect(config=dict(self._settings))
                self._connection.execute("SET TimeZone = 'UTC'")
            cursor = self._connection.cursor()
        with data_errors(), cursor:
            batches = cursor.sql(sql).to_arrow_table().to_batches()
        return batches[0] if batches and batches[0].num_rows else None

    def close(self) -> None:
        """Frees what DuckDB holds."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def key_names(key: Key) -> list[str]:
    """What `keys_sql` calls a key's columns."""
    return [f"k{number}" for number in range(len(key.columns))]


def shown_key(table: Table, key: Key, row: pa.RecordBatch) -> str:
    """A key's values as messages show them: `row` is the first of a batch of its columns."""
    types = {column.name: column.type for column in table.columns}
    texts = (text_column(_held(types[n]), array.slice(0, 1)) for n, array in zip(key.columns, row.columns))
    return ", ".join("null" if (value := text[0].as_py()) is None else value for text in texts)


def _held(type: SqlType) -> SqlType:
    """The type in which a key's column goes into a message: what Arrow has no word for is text."""
    return TEXT if type.carried or type.name == "uuid" else type


def _shown(type: SqlType, name: str) -> str:
    if type.carried:
        return f"rtrim(rtrim({name}::VARCHAR, '0'), '.')"
    return f"{name}::VARCHAR" if type.name == "uuid" else name


def keys_sql(table: Table, key: Key, files: Sequence[DataFile]) -> str:
    """The keys of files that may clash, under the names of `key_names`."""
    types = {column.name: column.type for column in table.columns}
    # 1.5 and 1.50 are equal: a carried numeric's display scale does not count.
    parts = [f"{_quoted(name)}{'.v' if types[name].carried else ''}" for name in key.columns]
    outputs = ", ".join(f"{part} AS {name}" for part, name in zip(parts, key_names(key)))
    there = " AND ".join(f"{name} IS NOT NULL" for name in key_names(key)) if key.nulls_distinct else "true"
    columns = tuple(dict.fromkeys(key.columns))
    return f"SELECT * FROM (SELECT {outputs} FROM ({scan_sql(table, files, columns=columns)})) WHERE {there}"


def _twice(keys: str, names: str) -> str:
    return f"SELECT {names} FROM ({keys}) GROUP BY ALL HAVING count(*) > 1 LIMIT 1"


def _may_share(table: Table, key: Key, file: DataFile, others: Sequence[DataFile]) -> bool:
    # Ranges say nothing of NULLs.
    return not key.nulls_distinct or any(_overlap(table, key, file, other) for other in others)


def _overlap(table: Table, key: Key, one: DataFile, other: DataFile) -> bool:
    for column in table.columns:
        if column.name not in key.columns:
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
