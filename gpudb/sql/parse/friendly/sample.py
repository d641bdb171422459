"""USING SAMPLE, as in DuckDB: `USING SAMPLE 10 ROWS`, `10%`, `10 PERCENT (bernoulli, 42)`, `reservoir(10 ROWS)`.

It becomes a last item of FROM: a function of the size, its unit, the method and the seed.
"""

from __future__ import annotations

from collections.abc import Iterator

from postgast import pg_query_pb2 as pg

from gpudb.sql.parse.friendly.phrases import Phrases
from gpudb.sql.parse.friendly.rewritten import Edit

SAMPLE = "gpudb sample"
METHODS = frozenset({"bernoulli", "system", "reservoir"})
_UNITS = {"%": "percent", "percent": "percent", "rows": "rows"}
_NUMBERS = frozenset({pg.ICONST, pg.FCONST})
_CLAUSES = frozenset({"from", "select"})


def replace_sample(phrases: Phrases) -> Iterator[Edit]:
    """Yields the edits that replace each USING SAMPLE of a text, the last one first."""
    for number in range(len(phrases) - 3, 0, -1):
        if (phrases.word(number), phrases.word(number + 1)) != ("using", "sample"):
            continue
        start = _find_from(phrases, number)
        found = _read(phrases, number + 2)
        if start is None or found is None:
            continue
        call, end = found
        end_of_from = min(phrases.find_clause_end(start + 1), number)
        place = phrases.tokens[end_of_from - 1].end
        between = (place, phrases.tokens[number].start)
        yield Edit(place, phrases.tokens[end - 1].end, (call, between))


def _find_from(phrases: Phrases, number: int) -> int | None:
    """Returns the FROM of the query level of a token."""
    place = phrases.find_before(number, _CLAUSES)
    return place if phrases.word(place) == "from" else None


def _read(phrases: Phrases, number: int) -> tuple[str, int] | None:
    """Returns the item of FROM for what is behind USING SAMPLE, and the token behind it."""
    method = phrases.word(number) if phrases.word(number) in METHODS and phrases.word(number + 1) == "(" else ""
    size = number + (2 if method else 0)
    if not 0 <= size < len(phrases) or phrases.tokens[size].kind not in _NUMBERS:
        return None
    unit = _UNITS.get(phrases.word(size + 1))
    end = size + (2 if unit else 1)
    seed = "NULL"
    if method:
        if phrases.word(end) != ")":
            return None
        end += 1
    elif phrases.word(end) == "(" and phrases.word(end + 1) in METHODS:
        method, end = phrases.word(end + 1), end + 2
        if phrases.word(end) == ",":
            seed, end = phrases.text(end + 1), end + 2
        if phrases.word(end) != ")":
            return None
        end += 1
    if phrases.word(end) == "repeatable" and phrases.closing(end + 1) == end + 3:
        seed, end = phrases.text(end + 2), end + 4
    return f", \"{SAMPLE}\"({phrases.text(size)}, '{unit or 'rows'}', '{method}', {seed})", end
