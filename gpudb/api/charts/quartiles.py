"""The boxes of box plots, computed in SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpudb.api.charts.axes import build_condition, get_number
from gpudb.api.charts.plotted import Plotted
from gpudb.api.charts.summaries import check_names, fetch
from gpudb.api.names import quote_identifier
from gpudb.session.results import ResultColumn

if TYPE_CHECKING:
    import polars as pl


_COMPUTED = ("q1", "median", "q3", "low", "high", "least", "greatest", "rows", "outliers")


def find_quartiles(relation: Plotted, value: ResultColumn, groups: Sequence[str], *, limit: int | None) -> pl.DataFrame:
    """Returns q1, median, q3, low, high, least, greatest, rows and outliers for each group; 54000 for more groups than
    the limit, 42702 for a group of such a name.

    low and high are the last values within one and a half times the distance of the quartiles (Tukey's box plot).
    """
    check_names(groups, _COMPUTED)
    finite = relation._wrap(f"WHERE {build_condition([value])}", ", ".join(
        [*(f"{quote_identifier(name)} AS g{i}" for i, name in enumerate(groups)), f"{get_number(value)} AS v"]
    ))  # fmt: skip
    keys = [f"g{i}" for i in range(len(groups))]
    grouping = f"GROUP BY {', '.join(keys)}" if keys else ""
    shares = {"q1": 0.25, "median": 0.5, "q3": 0.75}
    middles = [f"percentile_cont({share}) WITHIN GROUP (ORDER BY v) AS {name}" for name, share in shares.items()]
    boxes = finite._wrap(grouping, ", ".join([*(f"{key} AS b{key}" for key in keys), *middles]))
    joined = " AND ".join(f"{key} IS NOT DISTINCT FROM b{key}" for key in keys) or "true"
    beside = boxes._wrap("", "*, q1 - 1.5 * (q3 - q1) AS lower, q3 + 1.5 * (q3 - q1) AS upper")
    inside = "v >= lower AND v <= upper"
    columns = [
        *(f"{key} AS {quote_identifier(name)}" for key, name in zip(keys, groups, strict=True)),
        *(f"min({name}) AS {name}" for name in shares),
        f"min(v) FILTER (WHERE {inside}) AS low",
        f"max(v) FILTER (WHERE {inside}) AS high",
        "min(v) AS least",
        "max(v) AS greatest",
        "count(*) AS rows",
        f"count(*) FILTER (WHERE NOT ({inside})) AS outliers",
    ]
    drawn = finite._wrap(f"JOIN (\n{beside.query}\n) AS boxes ON {joined} {grouping}", ", ".join(columns))
    return fetch(drawn, limit, "boxes")
