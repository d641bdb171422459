"""DuckDB's statement `PIVOT t ON c [IN (…)] USING sum(x) GROUP BY g`, which turns values of a column into columns.

It becomes a SELECT from a function of the query, of the columns with their values, of the aggregates and of the groups.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpudb.sql.parse.friendly.phrases import TAIL, Phrases
from gpudb.sql.parse.friendly.rewritten import Edit, Part

PIVOT, ON, IN = "gpudb pivot", "gpudb on", "gpudb in"
USING, GROUP = "gpudb using", "gpudb group"
AS = "gpudb as"
"""A function that stands for an expression and its name."""
_QUERIES = frozenset({"select", "with", "values", "from"})


def replace_pivot(phrases: Phrases) -> Iterator[Edit]:
    """Yields the edits that replace each PIVOT statement of a text, the last one first."""
    for number in range(len(phrases) - 2, -1, -1):
        if phrases.word(number) != "pivot" or not phrases.starts_query(number):
            continue
        on = phrases.find_end(number + 1, TAIL | {"on", "using", "group"})
        if phrases.word(on) != "on" or on == number + 1:
            continue
        end = phrases.find_end(on + 1, TAIL | {"using", "group"})
        parts: list[Part] = [f'SELECT * FROM "{PIVOT}"(', "(SELECT * FROM ", phrases.slice(number + 1, on), ")"]
        for item in phrases.split(on + 1, end):
            parts += [", ", *read_pivoted(phrases, *item)]
        if phrases.word(end) == "using":
            start, end = end + 1, phrases.find_end(end + 1, TAIL | {"group"})
            parts += read_named(phrases, USING, start, end)
        if phrases.word(end) == "group" and phrases.word(end + 1) == "by":
            start, end = end + 2, phrases.find_end(end + 2, TAIL)
            parts += [f', "{GROUP}"(', phrases.slice(start, end), ")"]
        yield Edit(*phrases.slice(number, end), (*parts, ")"))


def read_pivoted(phrases: Phrases, start: int, end: int) -> list[Part]:
    """Returns the call for an expression that is pivoted, with the values of its IN, if it has one."""
    middle = phrases.find_last(start, end, "in")
    if middle is None or phrases.closing(middle + 1) != end - 1:
        return [f'"{ON}"(', phrases.slice(start, end), ")"]
    if phrases.word(middle + 2) in _QUERIES:
        values: list[Part] = [f', "{IN}"((', phrases.slice(middle + 2, end - 1), "))"]
    else:
        values = read_named(phrases, IN, middle + 2, end - 1)
    return [f'"{ON}"(', phrases.slice(start, middle), *values, ")"]


def read_named(phrases: Phrases, function: str, start: int, end: int) -> list[Part]:
    """Returns the call of a function, behind a comma, for items of which some have names: `a, b AS c`."""
    parts: list[Part] = [f', "{function}"(']
    for first, stop in phrases.split(start, end):
        parts += [", "] if len(parts) > 1 else []
        middle = phrases.find_last(first, stop, "as")
        if middle is None or middle == first or middle != stop - 2:
            parts.append(phrases.slice(first, stop))
        else:
            parts += [f'"{AS}"(', phrases.slice(first, middle), ", ", phrases.slice(middle + 1, stop), ")"]
    return [*parts, ")"]
