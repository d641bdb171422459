"""SHOW TABLES, SHOW TABLES FROM a schema and SHOW ALL TABLES, DuckDB's lists of tables and views.

They become queries over the system catalog. SHOW TABLES alone is PostgreSQL's statement about a setting of that name,
which it does not have and nobody can define.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpudb.sql.parse.friendly.phrases import Phrases
from gpudb.sql.parse.friendly.rewritten import Edit, Part

_RELATIONS = (
    "FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
    " WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema')"
)
_VISIBLE = f"SELECT c.relname::text AS name {_RELATIONS} AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 1"
_COLUMNS = (
    "FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"
)
_ALL = (
    "SELECT pg_catalog.current_database()::text AS database, n.nspname::text AS schema, c.relname::text AS name,"
    f" ARRAY(SELECT a.attname::text {_COLUMNS}) AS column_names,"
    f" ARRAY(SELECT pg_catalog.format_type(a.atttypid, a.atttypmod) {_COLUMNS}) AS column_types,"
    f" c.relpersistence = 't' AS temporary {_RELATIONS} ORDER BY 2, 3"
)
_ENDS = frozenset({"", ";", ")"})


def replace_show_tables(phrases: Phrases) -> Iterator[Edit]:
    """Yields the edits that replace each SHOW TABLES of a text, the last one first."""
    for number in range(len(phrases) - 2, -1, -1):
        if phrases.word(number) == "show" and (found := _read(phrases, number)) and phrases.starts_query(number):
            end, parts = found
            yield Edit(*phrases.slice(number, end), parts)


def shows_tables(statement: Any) -> bool:
    """Whether a RawStmt message is PostgreSQL's SHOW of a setting named tables."""
    node = statement.stmt
    return bool(node.WhichOneof("node") == "variable_show_stmt" and node.variable_show_stmt.name == "tables")


def _read(phrases: Phrases, number: int) -> tuple[int, tuple[Part, ...]] | None:
    """Returns the token behind a SHOW and its query; None for another SHOW."""
    words = [phrases.word(number + each) for each in (1, 2, 3)]
    if words[:2] == ["all", "tables"] and _ends(phrases, number + 3):
        return number + 3, (_ALL,)
    if words[0] == "tables" and _ends(phrases, number + 2):
        return number + 2, (_VISIBLE,)
    if words[0] == "tables" and words[1] in ("from", "in") and phrases.is_name(number + 3):
        if _ends(phrases, number + 4):
            name = phrases.tokens[number + 3].text
            schema = name[1:-1].replace('""', '"') if name.startswith('"') else name.lower()
            literal = schema.replace("'", "''")
            query = f"SELECT c.relname::text AS name {_RELATIONS} AND n.nspname = '{literal}' ORDER BY 1"
            return number + 4, (query,)
    return None


def _ends(phrases: Phrases, number: int) -> bool:
    return number >= len(phrases) or phrases.word(number) in _ENDS - {""}
