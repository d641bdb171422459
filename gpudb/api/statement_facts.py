"""What a statement's text says of how its rows may be read: in bulk, and once more."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from gpudb.api.placeholders import Place, list_places
from gpudb.catalog.parse_trees import walk_messages
from gpudb.errors import GpudbError
from gpudb.functions.library import functions_by_name
from gpudb.sql.parse.parser import kind, parse
from gpudb.sql.parse.statement_functions import find_function_call

_REMEMBERED, _LONGEST = 256, 10_000
_QUERY = re.compile(
    r"(?:\s|\(|--[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/)*+(?:select|with|values|table)\b", re.IGNORECASE | re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Query:
    """One SELECT, VALUES, TABLE or WITH that makes no table of its rows and is no call that is a statement
    (`SELECT load_data(…)`), so that it can be a subquery.

    `text` is without a semicolon and begins at character `start` of what was written.
    """

    text: str
    start: int
    is_bulk: bool
    """Whether COPY sends its rows: it has columns, locks no rows and changes none."""
    is_repeatable: bool
    """Whether it can be read in part, and again, without effects: it is `is_bulk` and calls PostgreSQL's functions
    alone, none of them volatile, and a TABLESAMPLE is REPEATABLE."""
    places: tuple[Place, ...]
    """Its placeholders, at characters of `text`."""


def find_query(sql: str) -> Query | None:
    """Returns the query that a text is; None for other statements, several, and texts that are not SQL."""
    if _QUERY.match(sql) is None:
        return None
    return _read(sql) if len(sql) > _LONGEST else _remember(sql)


@lru_cache(_REMEMBERED)
def _remember(sql: str) -> Query | None:
    return _read(sql)


def _read(sql: str) -> Query | None:
    try:
        statements = parse(sql)
    except GpudbError:
        return None  # running it raises the error
    if len(statements) != 1 or statements[0].kind != "SelectStmt":
        return None
    node: Any = statements[0].node
    if find_function_call(node) is not None:
        return None
    has_columns = bool(node.target_list or node.values_lists or node.HasField("larg"))
    is_bulk, is_sampled, functions = has_columns, False, set()
    for each in walk_messages(node):
        match each.DESCRIPTOR.name:
            case "IntoClause":
                return None
            case "FuncCall":
                functions.add(_get_name(each))
            case "SelectStmt" | "SortBy" if _is_sorted_by_parameter(each):
                is_bulk = False  # a literal there would be the number of a column
            case "LockingClause":
                is_bulk = False
            case "CommonTableExpr" if kind(each.ctequery) != "select_stmt":
                is_bulk = False
            case "RangeTableSample" if not each.HasField("repeatable"):
                is_sampled = True
    is_repeatable = is_bulk and not is_sampled and all(map(_is_stable, functions))
    return Query(statements[0].text, statements[0].start, is_bulk, is_repeatable, list_places(statements[0]))


def _is_stable(name: str) -> bool:
    """Whether all PostgreSQL's functions of a name give the same rows in one statement."""
    found = functions_by_name().get(name)
    return found is not None and not any(each.volatile for each in found)


def _get_name(call: Any) -> str:
    """Returns a function's name; its schema too, if it is not PostgreSQL's."""
    parts = [each.string.sval for each in call.funcname]
    return ".".join(parts[1:] if parts[0] == "pg_catalog" else parts)


def _is_sorted_by_parameter(node: Any) -> bool:
    """Whether a parameter itself is a key of ORDER BY, GROUP BY or DISTINCT ON."""
    keys = [node.node] if node.DESCRIPTOR.name == "SortBy" else [*node.group_clause, *node.distinct_clause]
    return any(kind(key) == "param_ref" for key in keys)
