"""GROUP BY ALL, by all of the select list that aggregates nothing, and ORDER BY ALL, by all of it.

ALL becomes a column whose name no column has.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpudb.sql.parse.friendly.phrases import CLAUSES, Phrases
from gpudb.sql.parse.friendly.rewritten import Edit

ALL = "gpudb all"
"""The name of the column that stands for ALL."""

_BEHIND = CLAUSES | {"", ";", ")", "using"}
_DIRECTIONS = frozenset({"asc", "desc", "nulls"})


def replace_all(phrases: Phrases) -> Iterator[Edit]:
    """Yields the edits that replace each ALL of GROUP BY or ORDER BY in a text, the last one first."""
    for number in range(len(phrases) - 1, 1, -1):
        if phrases.word(number) != "all" or phrases.word(number - 1) != "by":
            continue
        clause, behind = phrases.word(number - 2), phrases.word(number + 1)
        is_all = (clause == "group" and behind in _BEHIND) or (clause == "order" and behind in _BEHIND | _DIRECTIONS)
        is_last = number + 1 >= len(phrases) or behind
        if is_all and is_last and phrases.follows_query(number):
            start, end = phrases.slice(number, number + 1)
            yield Edit(start, end, (f'"{ALL}"',))
