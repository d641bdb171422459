"""DESCRIBE and SUMMARIZE of a table or a query, DuckDB's lists of columns and of their statistics.

They become SELECTs from a function of the query.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpudb.sql.parse.friendly.phrases import Phrases
from gpudb.sql.parse.friendly.rewritten import Edit

DESCRIBE, SUMMARIZE = "gpudb describe", "gpudb summarize"
_FUNCTIONS = {"describe": DESCRIBE, "desc": DESCRIBE, "summarize": SUMMARIZE}
_QUERIES = frozenset("select with values table from pivot unpivot show describe desc summarize (".split())


def replace_describe(phrases: Phrases) -> Iterator[Edit]:
    """Yields the edits that replace each DESCRIBE, DESC or SUMMARIZE of a text, the last one first."""
    for number in range(len(phrases) - 2, -1, -1):
        function = _FUNCTIONS.get(phrases.word(number))
        if function is None or not _names_rows(phrases, number + 1) or not phrases.starts_query(number):
            continue
        end = phrases.find_end(number + 1, ())
        start, stop = phrases.slice(number, end)
        query = "(" if phrases.word(number + 1) in _QUERIES else "(SELECT * FROM "
        yield Edit(start, stop, (f'SELECT * FROM "{function}"(', query, phrases.slice(number + 1, end), "))"))


def _names_rows(phrases: Phrases, number: int) -> bool:
    return phrases.word(number) == "(" or phrases.is_literal(number) or phrases.is_name(number)
