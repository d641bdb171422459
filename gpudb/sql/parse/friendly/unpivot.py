"""DuckDB's statement `UNPIVOT t ON a, b INTO NAME k VALUE v`, which turns columns into rows.

It becomes a SELECT from a function of the query, of the names of the new columns and of the old columns.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpudb.sql.parse.friendly.phrases import TAIL, Phrases
from gpudb.sql.parse.friendly.pivot import ON, read_named
from gpudb.sql.parse.friendly.rewritten import Edit, Part

UNPIVOT, INTO = "gpudb unpivot", "gpudb into"
NULLS = "gpudb nulls"
"""A function that stands for INCLUDE NULLS."""


def replace_unpivot(phrases: Phrases) -> Iterator[Edit]:
    """Yields the edits that replace each UNPIVOT statement of a text, the last one first."""
    for number in range(len(phrases) - 2, -1, -1):
        if phrases.word(number) != "unpivot" or not phrases.starts_query(number):
            continue
        on = phrases.find_end(number + 1, TAIL | {"on", "include"})
        nulls = phrases.word(on) == "include" and phrases.word(on + 1) == "nulls"
        source = phrases.slice(number + 1, on)
        on += 2 if nulls else 0
        if phrases.word(on) != "on" or on == number + 1:
            continue
        end = phrases.find_end(on + 1, TAIL | {"into"})
        names: tuple[Part, Part] = ("name", "value")
        stop = end
        if phrases.word(end) == "into":
            if phrases.word(end + 1) != "name" or phrases.word(end + 3) not in ("value", "values"):
                continue
            stop = phrases.find_end(end + 4, TAIL)
            names = (phrases.slice(end + 2, end + 3), phrases.slice(end + 4, stop))
        parts = build_unpivot(phrases, source, names, (on + 1, end), nulls)
        yield Edit(*phrases.slice(number, stop), ("SELECT * FROM ", *parts))


def build_unpivot(
    phrases: Phrases, source: Part, names: tuple[Part, Part], columns: tuple[int, int], nulls: bool
) -> list[Part]:
    """Returns the call that stands for UNPIVOT of a FROM item; `names` are the columns that it makes."""
    parts: list[Part] = [f'"{UNPIVOT}"(', "(SELECT * FROM ", source, f'), "{INTO}"(', names[0], ", ", names[1], ")"]
    parts += read_named(phrases, ON, *columns)
    return [*parts, f', "{NULLS}"())' if nulls else ")"]
