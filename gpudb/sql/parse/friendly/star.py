"""What changes the columns of a star: `* EXCLUDE (a)`, `* EXCEPT (a)`, `t.* REPLACE (a + 1 AS a)`, `* RENAME (a AS b)`.

The star becomes a call of STAR, whose arguments are the qualified star, if it is one, and calls of the changes.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpudb.sql.parse.friendly.phrases import Phrases
from gpudb.sql.parse.friendly.rewritten import Edit, Part

STAR = "gpudb star"
CHANGES = {"exclude": "gpudb exclude", "except": "gpudb exclude", "replace": "gpudb replace", "rename": "gpudb rename"}
"""The functions that stand for the changes, by their words: of columns, of pairs of expression and column, of pairs of
a column and its new name.
"""

_BEFORE = frozenset({"select", "all", "distinct", ",", ".", "returning"})


def replace_star(phrases: Phrases) -> Iterator[Edit]:
    """Yields the edits that replace each star of a text that is changed, the last one first."""
    for number in range(len(phrases) - 2, 0, -1):
        if phrases.word(number) != "*" or phrases.word(number + 1) not in CHANGES or not _is_star(phrases, number):
            continue
        changes: list[Part] = []
        end = number + 1
        while phrases.word(end) in CHANGES and (found := _read_change(phrases, end)) is not None:
            changes += [", ", *found[0]] if changes else found[0]
            end = found[1]
        if not changes:
            continue
        first = number
        while phrases.word(first - 1) == "." and phrases.is_name(first - 2):
            first -= 2
        if phrases.word(first - 1) == ".":
            continue
        qualified: tuple[Part, ...] = (phrases.slice(first, number + 1), ", ") if first < number else ()
        start, stop = phrases.slice(first, end)
        yield Edit(start, stop, (f'"{STAR}"(', *qualified, *changes, ")"))


def _is_star(phrases: Phrases, number: int) -> bool:
    before = phrases.word(number - 1)
    if before in _BEFORE:
        return True
    opening = phrases.opening(number - 1)
    if opening is not None:
        return phrases.word(opening - 1) == "on" and phrases.word(opening - 2) == "distinct"
    return before == "(" and phrases.word(number - 2) == "columns"


def _read_change(phrases: Phrases, number: int) -> tuple[list[Part], int] | None:
    """Returns the call of a change and the token behind it; None if it is none."""
    word = phrases.word(number)
    function = f'"{CHANGES[word]}"('
    closing = phrases.closing(number + 1)
    if closing is None:
        if word != "exclude" or not phrases.is_name(number + 1):
            return None
        return [function, phrases.slice(number + 1, number + 2), ")"], number + 2
    items = phrases.split(number + 2, closing)
    parts: list[Part] = [function]
    for start, end in items:
        parts += [", "] if len(parts) > 1 else []
        if word in ("exclude", "except"):
            if not _is_column(phrases, start, end):
                return None
            parts.append(phrases.slice(start, end))
            continue
        middle = phrases.find_last(start, end, "as")
        if middle is None or middle == start or middle != end - 2:
            return None
        parts += [phrases.slice(start, middle), ", ", phrases.slice(middle + 1, end)]
    return ([*parts, ")"], closing + 1) if items else None


def _is_column(phrases: Phrases, start: int, end: int) -> bool:
    """Whether tokens are a name, which may be qualified."""
    names = range(start, end, 2)
    return (
        (end - start) % 2 == 1
        and all(phrases.is_name(each) and phrases.word(each) != "select" for each in names)
        and all(phrases.word(each) == "." for each in range(start + 1, end, 2))
    )
