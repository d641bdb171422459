"""FROM before SELECT, or without it: `FROM t SELECT a WHERE b` and `FROM t`, as in DuckDB."""

from __future__ import annotations

from collections.abc import Iterator

from gpudb.sql.parse.friendly.phrases import CLAUSES, Phrases
from gpudb.sql.parse.friendly.rewritten import Edit

_ENDS = CLAUSES | {"select"}


def replace_from_first(phrases: Phrases) -> Iterator[Edit]:
    """Yields the edits that put each FROM of a text that begins a query behind its SELECT, the last one first."""
    for number in range(len(phrases) - 2, -1, -1):
        if phrases.word(number) == "from" and phrases.starts_query(number):
            first = number + 1 if phrases.closing(number + 1) is not None else number + 2
            select = phrases.find_clause_end(first, _ENDS)
            start = phrases.tokens[number].start
            if phrases.word(select) != "select":
                yield Edit(start, start, ("SELECT * ",))
                continue
            end = phrases.find_clause_end(select + 1)
            parts = (phrases.slice(select, end), " ", phrases.slice(number, select))
            yield Edit(start, phrases.tokens[end - 1].end, parts)
