"""PIVOT and UNPIVOT behind a table in FROM, as Snowflake and the SQL standard's draft have them.

`t PIVOT (sum(x) FOR c IN ('a', 'b') GROUP BY g)` and `t UNPIVOT [INCLUDE NULLS] (v FOR k IN (a, b))` become the
functions of the statements.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpudb.sql.parse.friendly.phrases import Phrases
from gpudb.sql.parse.friendly.pivot import GROUP, PIVOT, USING, read_named, read_pivoted
from gpudb.sql.parse.friendly.rewritten import Edit, Part
from gpudb.sql.parse.friendly.unpivot import build_unpivot

_BEFORE = frozenset({"from", ",", "join"})


def replace_pivot_clause(phrases: Phrases) -> Iterator[Edit]:
    """Yields the edits that replace each PIVOT or UNPIVOT behind a FROM item of a text, the first one first."""
    for number in range(1, len(phrases) - 2):
        word = phrases.word(number)
        if word not in ("pivot", "unpivot") or (item := _find_item(phrases, number)) is None:
            continue
        nulls = phrases.word(number + 2) == "nulls" and phrases.word(number + 1)
        opening = number + (3 if nulls in ("include", "exclude") else 1)
        closing = phrases.closing(opening)
        if closing is None:
            continue
        middle = phrases.find_end(opening + 1, {"for"})
        if phrases.word(middle) != "for":
            continue
        source = phrases.slice(item, number)
        inside = (middle + 1, closing)
        aggregates = (opening + 1, middle)
        read = _read_pivot if word == "pivot" else _read_unpivot
        parts = read(phrases, source, aggregates, inside, nulls == "include")
        if parts is not None:
            yield Edit(*phrases.slice(item, closing + 1), tuple(parts))


def _find_item(phrases: Phrases, number: int) -> int | None:
    """Returns where the FROM item before a token begins."""
    place = phrases.find_before(number, _BEFORE)
    return place + 1 if 0 <= place < number - 1 else None


def _read_pivot(
    phrases: Phrases, source: Part, aggregates: tuple[int, int], inside: tuple[int, int], _: bool
) -> list[Part] | None:
    parts: list[Part] = [f'"{PIVOT}"(', "(SELECT * FROM ", source, ")"]
    place, end = inside
    while place < end and phrases.word(place) != "group":
        values = phrases.find_end(place, {"in"}) + 1
        closing = phrases.closing(values)
        if phrases.word(values - 1) != "in" or closing is None:
            return None
        parts += [", ", *read_pivoted(phrases, place, closing + 1)]
        place = closing + 1
    parts += read_named(phrases, USING, *aggregates)
    if place < end:
        parts += [f', "{GROUP}"(', phrases.slice(place + 2, end), ")"]
    return [*parts, ")"]


def _read_unpivot(
    phrases: Phrases, source: Part, value: tuple[int, int], inside: tuple[int, int], nulls: bool
) -> list[Part] | None:
    middle = phrases.find_end(inside[0], {"in"})
    if phrases.word(middle) != "in" or phrases.closing(middle + 1) != inside[1] - 1:
        return None
    names = (phrases.slice(inside[0], middle), phrases.slice(*value))
    return build_unpivot(phrases, source, names, (middle + 2, inside[1] - 1), nulls)
