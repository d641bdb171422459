"""Primary keys and UNIQUE: compares new rows with each other and with the table's, over the key columns alone.

Files whose minima and maxima exclude a duplicate are not read; a key that only grows costs almost nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from gpudb.catalog.identifiers import quote_name
from gpudb.catalog.model import Catalog
from gpudb.catalog.tables import DataFile, Exclusion, Key, Table
from gpudb.errors import ShownValues, SqlError
from gpudb.functions.equality import has_many_representations
from gpudb.functions.equality import render_equality_key as comparable
from gpudb.storage.constraints.exclusions import IsDeferred, PairFinder, check_exclusions, never
from gpudb.storage.constraints.key_index import KeyIndex
from gpudb.storage.iceberg.scan import data_errors, name_scanned, scan_sql
from gpudb.types import TEXT, SqlType
from gpudb.values.json import normalize_jsonb
from gpudb.values.text_columns import format_text_column


class KeyChecker:
    """Runs the comparisons on a separate DuckDB instance; thread-safe."""

    def __init__(self, spill: Path, memory_limit: str = "2GB") -> None:
        """`spill` is a folder for what exceeds `memory_limit`; created on first use."""
        self._settings = {
            "temp_directory": str(spill),
            "memory_limit": memory_limit,
            "preserve_insertion_order": "false",
        }
        self.index = KeyIndex()
        self.pairs: PairFinder | None = None
        """What finds the pairs of rows that exclusions forbid; the engine is set once it is there."""
        self._guard = threading.Lock()
        self._connection: duckdb.DuckDBPyConnection | None = None

    def check(
        self,
        catalog: Catalog,
        table: Table,
        new: Sequence[DataFile],
        existing: Sequence[DataFile],
        *,
        distinct: bool = False,
        is_deferred: IsDeferred = never,
    ) -> None:
        """Raises 23505 or 23P01 if a key of `new` files has a duplicate in them or in `existing`, or is excluded.

        Only the definition of `table` is used, in its `catalog`. `distinct` asserts that the primary keys of `new` are
        distinct. Exclusions that are deferred are left out.
        """
        if not new:
            return
        self._check_keys(table, new, existing, distinct=distinct)
        check_exclusions(self.pairs, catalog, table, new, existing, is_deferred=is_deferred)

    def _check_keys(
        self, table: Table, new: Sequence[DataFile], existing: Sequence[DataFile], *, distinct: bool
    ) -> None:
        message = 'duplicate key value violates unique constraint "{}"'
        for number, key in enumerate(table.keys):
            names = ", ".join(comparable_names(key))
            fresh = render_keys(table, key, new)
            alone = distinct and number == 0 and key.columns == table.primary_key
            if not alone and sum(file.rows for file in new) > 1:
                self._raise_for(table, key, _render_duplicates(table, key, fresh), message, "already exists")
            near = [file for file in existing if _may_clash(table, key, file, new)]
            if near:
                same = " AND ".join(f"o.{name} IS NOT DISTINCT FROM f.{name}" for name in comparable_names(key))
                how = f"USING ({names})" if key.nulls_distinct else f"ON {same}"
                both = f"SELECT o.* FROM ({render_keys(table, key, near)}) AS o SEMI JOIN ({fresh}) AS f {how} LIMIT 1"
                self._raise_for(table, key, both, message, "already exists")

    def check_new_key(self, table: Table, key: Key) -> None:
        """Raises 23505 if a table's rows violate a new key."""
        twice = _render_duplicates(table, key, render_keys(table, key, table.files))
        self._raise_for(table, key, twice, 'could not create unique index "{}"', "is duplicated")

    def check_exclusion(
        self,
        catalog: Catalog,
        table: Table,
        exclusion: Exclusion,
        new: Sequence[DataFile],
        existing: Sequence[DataFile],
    ) -> None:
        """Raises 23505 or 23P01 if a row of `new` files and one of these or `existing` violate one exclusion."""
        check_exclusions(self.pairs, catalog, table, new, existing, is_deferred=lambda each: each != exclusion)

    def check_new_exclusion(self, catalog: Catalog, table: Table, exclusion: Exclusion) -> None:
        """Raises 23505 or 23P01 if a table's rows violate a new exclusion."""
        check_exclusions(self.pairs, catalog, table, table.files, (), building=exclusion)

    def check_no_nulls(self, table: Table, column: str) -> None:
        """Raises 23502 if a column that becomes NOT NULL holds a NULL."""
        rows = scan_sql(table, columns=(column,))
        if self._fetch_first(f"SELECT 1 FROM ({rows}) WHERE {name_scanned(table)[column]} IS NULL LIMIT 1") is not None:
            message = f'column "{column}" of relation "{table.name}" contains null values'
            raise SqlError.of("not_null_violation", message)

    def _raise_for(self, table: Table, key: Key, sql: str, message: str, how: str) -> None:
        values = self.find_first(table, key, sql)
        if values is not None:
            columns = ", ".join(quote_name(name) for name in key.columns)
            objects = {"schema": table.schema, "table": table.name, "constraint": key.name}
            detail = f"Key ({columns})=({values}) {how}."
            shown = ShownValues(dict.fromkeys(key.columns, values))
            raise SqlError.of("unique_violation", message.format(key.name), detail=detail, objects=objects, shown=shown)

    def find_first(self, table: Table, key: Key, sql: str) -> str | None:
        """Returns the first row of a query over a key's columns, formatted for messages; None if there is none."""
        names = zip(_key_types(table, key), comparable_names(key), _written_names(key))
        # Arrow represents uuid as an extension type.
        outputs = [
            s if has_many_representations(kind) else f"{k}::VARCHAR" if kind.name == "uuid" else k
            for kind, k, s in names
        ]
        row = self._fetch_first(f"SELECT {', '.join(outputs)} FROM ({sql})")
        return None if row is None else format_key(table, key, row)

    def _fetch_first(self, sql: str) -> pa.RecordBatch | None:
        """Returns the first row of a query; None if there is none."""
        with self._guard:
            if self._connection is None:
                self._connection = duckdb.connect(config=dict(self._settings))
                self._connection.execute("SET TimeZone = 'UTC'")
                self._connection.create_function("pg_jsonb_key", normalize_jsonb, ["VARCHAR"], "VARCHAR")
            cursor = self._connection.cursor()
        with data_errors(), cursor:
            batches = cursor.sql(sql).to_arrow_table().to_batches()
        return batches[0] if batches and batches[0].num_rows else None

    def close(self) -> None:
        """Closes the DuckDB instance."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def comparable_names(key: Key) -> list[str]:
    """Returns the names in `render_keys` of a key's columns in their comparable form, which equal values share."""
    return [f"k{number}" for number in range(len(key.columns))]


def _written_names(key: Key) -> list[str]:
    """Returns the names in `render_keys` of the columns as written; they exist only for types with several spellings of
    a value.
    """
    return [f"s{number}" for number in range(len(key.columns))]


def _key_types(table: Table, key: Key) -> list[SqlType]:
    types = {column.name: column.type for column in table.columns}
    return [types[name] for name in key.columns]


def format_key(table: Table, key: Key, row: pa.RecordBatch) -> str:
    """Formats a key's values for messages; `row` is the first of a batch of its columns."""
    held = (TEXT if kind.name == "uuid" else kind for kind in _key_types(table, key))
    texts = (format_text_column(kind, array.slice(0, 1)) for kind, array in zip(held, row.columns))
    return ", ".join("null" if (value := text[0].as_py()) is None else value for text in texts)


def render_keys(table: Table, key: Key, files: Sequence[DataFile]) -> str:
    """Returns SQL for the keys of files that may clash, under the names of `comparable_names` and as written."""
    outputs = []
    scanned = name_scanned(table)
    named = zip(key.columns, _key_types(table, key), comparable_names(key), _written_names(key))
    for column, kind, name, spelt in named:
        value = scanned[column]
        outputs.append(f"{comparable(f'{value}.v' if kind.is_carried else value, kind)} AS {name}")
        if has_many_representations(kind):
            outputs.append(f"{value} AS {spelt}")
    required = " AND ".join(f"{name} IS NOT NULL" for name in comparable_names(key)) if key.nulls_distinct else "true"
    columns = tuple(dict.fromkeys(key.columns))
    return (
        f"SELECT * FROM (SELECT {', '.join(outputs)} FROM ({scan_sql(table, files, columns=columns)})) WHERE {required}"
    )


def _render_duplicates(table: Table, key: Key, keys: str) -> str:
    """Returns SQL for a duplicate among the keys of `render_keys`, as one of its rows is written."""
    spelt = [name for kind, name in zip(_key_types(table, key), _written_names(key)) if has_many_representations(kind)]
    names = comparable_names(key)
    outputs = [*names, *(f"any_value({name}) AS {name}" for name in spelt)]
    return f"SELECT {', '.join(outputs)} FROM ({keys}) GROUP BY {', '.join(names)} HAVING count(*) > 1 LIMIT 1"


def _may_clash(table: Table, key: Key, file: DataFile, others: Sequence[DataFile]) -> bool:
    # Ranges exclude no NULLs.
    return not key.nulls_distinct or any(_overlap(table, key, file, other) for other in others)


def _overlap(table: Table, key: Key, one: DataFile, other: DataFile) -> bool:
    for column in table.columns:
        if column.name not in key.columns or has_many_representations(column.type):
            continue
        field = column.field_id
        low, high = one.minimums.get(field), one.maximums.get(field)
        other_low, other_high = other.minimums.get(field), other.maximums.get(field)
        if high is not None and other_low is not None and high < other_low:  # type: ignore[operator]
            return False
        if low is not None and other_high is not None and other_high < low:  # type: ignore[operator]
            return False
    return True
