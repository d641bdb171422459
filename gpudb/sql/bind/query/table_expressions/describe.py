"""DESCRIBE: a row for each column of a table or a query, as DuckDB's, with PostgreSQL's names of types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpudb.catalog.tables import Table, Unique
from gpudb.functions.text_literal import quote_literal
from gpudb.sql.bind.query.table_expressions.source import Source
from gpudb.sql.bound import Column, Scan, Select
from gpudb.sql.parse.templates import fill_template

_NAMES = 'column_name, column_type, "null", key, "default", extra'


def describe(source: Source) -> Any:
    """Returns the query of a DESCRIBE. What a column of a table may be is told of a whole table alone."""
    table = _find_table(source)
    rows = []
    for index, each in enumerate(source.columns):
        type_ = str(each.type) if each.type.name != "unknown" else "text"
        facts = ("YES", None, None, None) if table is None else _list_facts(table, index)
        rows.append("(" + ", ".join(map(_write, (each.name, type_, *facts))) + ")")
    some = ", ".join(rows) or f"({', '.join(['NULL::text'] * 6)})"
    condition = "" if rows else " WHERE false"
    return fill_template(f"SELECT {_NAMES} FROM (VALUES {some}) AS described ({_NAMES}){condition}", {})


def _write(text: str | None) -> str:
    return "NULL::text" if text is None else f"{quote_literal(text)}::text"


def _find_table(source: Source) -> Table | None:
    """Returns the table if the query is all of its columns and rows."""
    query = source.query
    if not isinstance(query, Select) or not isinstance(query.source, Scan) or query.where is not None:
        return None
    table = query.source.table
    places = [each.index if isinstance(each, Column) else -1 for each in query.targets]
    return table if places == list(range(len(table.columns))) and query.limit is None else None


def _list_facts(table: Table, index: int) -> Sequence[str | None]:
    """Returns whether a column may be NULL, the kind of its key, its default, and nothing."""
    column = table.columns[index]
    keys = [each.columns for each in table.constraints if isinstance(each, Unique)]
    key = "PRI" if column.name in table.primary_key else "UNI" if (column.name,) in keys else None
    nullable = not column.not_null and column.name not in table.primary_key
    return "YES" if nullable else "NO", key, column.generated or column.default, None
