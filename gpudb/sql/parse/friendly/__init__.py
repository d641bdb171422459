"""SQL of DuckDB, ClickHouse and Snowflake that PostgreSQL's grammar lacks, as text that it reads.

Only texts that PostgreSQL rejects are rewritten, so that a word stays an ordinary name where it accepts one. Each
module has one construct: it finds a place of it in a text and returns the edit there. What needs the catalog
becomes a call of a function whose name no function has, which the binder expands. Positions in the rewritten text lead
back to what the user wrote. Imports sql.parse's tokens and the rooms below sql.
"""

from __future__ import annotations

from collections.abc import Iterable

from gpudb.errors import SyntaxError_
from gpudb.sql.parse.friendly.all_columns import replace_all
from gpudb.sql.parse.friendly.describe import replace_describe
from gpudb.sql.parse.friendly.from_first import replace_from_first
from gpudb.sql.parse.friendly.phrases import Phrases
from gpudb.sql.parse.friendly.pivot import replace_pivot
from gpudb.sql.parse.friendly.pivot_clause import replace_pivot_clause
from gpudb.sql.parse.friendly.rewritten import Edit, Rewritten
from gpudb.sql.parse.friendly.sample import replace_sample
from gpudb.sql.parse.friendly.show_tables import replace_show_tables
from gpudb.sql.parse.friendly.star import replace_star
from gpudb.sql.parse.friendly.unpivot import replace_unpivot
from gpudb.sql.parse.interrupts import check_interrupt

_CONSTRUCTS = (
    replace_describe,
    replace_show_tables,
    replace_pivot,
    replace_unpivot,
    replace_pivot_clause,
    replace_from_first,
    replace_sample,
    replace_star,
    replace_all,
)
"""In the order in which they are replaced: whole queries before their clauses."""
_LONGEST = 1 << 18
"""A longer text contains data, and is not searched."""
_MOST_EDITS, _MOST_PASSES = 1000, 100


def rewrite(text: str) -> Rewritten | None:
    """Returns a text with every construct replaced; None if it has none.

    A pass over the text replaces all places of a construct but those that contain another, which the next one has.
    """
    if len(text) > _LONGEST:
        return None
    result = Rewritten(text)
    try:
        phrases = Phrases(text)
        for construct in _CONSTRUCTS:
            for _ in range(_MOST_PASSES):
                check_interrupt()
                edits = _choose(construct(phrases), _MOST_EDITS - result.edits)
                if not edits:
                    break
                result.apply(edits)
                phrases = Phrases(result.text)
    except SyntaxError_:
        return None  # it has no tokens, and PostgreSQL's grammar says why
    return result if result.edits else None


def _choose(edits: Iterable[Edit], most: int) -> list[Edit]:
    """Returns the edits that do not overlap with one before them."""
    chosen, start, end = list[Edit](), 0, 0
    for edit in edits:
        if len(chosen) >= most:
            break
        if not chosen or edit.end <= start or edit.start >= end:
            start, end = (min(start, edit.start), max(end, edit.end)) if chosen else (edit.start, edit.end)
            chosen.append(edit)
    return chosen
