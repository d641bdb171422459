"""The largest categories of a bar chart, and what is told of the rest."""

from __future__ import annotations

from collections.abc import Sequence

from gpudb.api.charts.channels import Channel
from gpudb.api.charts.plotted import Plotted
from gpudb.api.charts.summaries import Summary, count_rows, fetch
from gpudb.api.names import quote_identifier

_ADDITIVE = frozenset({"sum", "count", "valid"})
_OTHER = "other"


def rank(
    relation: Plotted, category: Channel, value: Channel, groups: Sequence[str], *, largest: int, limit: int | None
) -> tuple[Summary, list[str]] | None:
    """Returns the bars of the `largest` categories, and their names from the largest down; None if there are no more.

    `value` is an aggregate that the relation has as a column. What can be added up of the rest is one bar more,
    "other"; of other aggregates the rest is left out. 54000 for more bars, of groups too, than the limit.
    """
    name, number = quote_identifier(str(category.field)), quote_identifier(value.column)
    totals = relation._wrap(f"GROUP BY {name}", f"{name} AS category, sum({number}::float8) AS total")
    count = count_rows(totals)
    if count <= largest:
        return None
    is_additive = value.aggregate in _ADDITIVE
    kept = largest - 1 if is_additive else largest
    places = totals._wrap("", "category, row_number() OVER (ORDER BY total DESC NULLS LAST, category) AS place")
    first = places._wrap(f"WHERE place <= {kept}", "category, place")
    top = [row["category"] for row in first._wrap("ORDER BY place", "category::text AS category").polars().to_dicts()]
    other, null = (_find_free(label, top) for label in (_OTHER, "NULL"))
    listed = ", ".join(_quote(text) for text in top if text is not None)
    is_top = f"{name}::text IN ({listed})" + (f" OR {name} IS NULL" if None in top else "")
    names = [quote_identifier(each) for each in groups]
    keys = "".join(f", {each}" for each in names)
    if is_additive:
        label = f"CASE WHEN {is_top} THEN coalesce({name}::text, '{null}') ELSE '{other}' END"
        rows = relation._wrap(
            f"GROUP BY {', '.join(str(i + 1) for i in range(len(names) + 1))}",
            f"{label} AS {name}{keys}, sum({number}::float8) AS {number}",
        )
        rest = f"the other {count - kept:,} are one"
    else:
        rows = relation._wrap(f"WHERE {is_top}", f"coalesce({name}::text, '{null}') AS {name}{keys}, {number}")
        rest = f"the other {count - kept:,} are left out"
    note = f"the {kept:,} largest of {count:,} bars; {rest}"
    shown = [null if text is None else text for text in top]
    return Summary(fetch(rows, limit, "bars"), note), [*shown, other] if is_additive else shown


def _find_free(label: str, taken: Sequence[str | None]) -> str:
    """Returns a label, longer if it is a category's name."""
    return label if label not in taken else _find_free(f"{label} …", taken)


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
