"""Altair's charts of computed rows: marks, encodings, and the note of what they are above."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gpudb.api.chart_pictures import register_charts
from gpudb.api.charts.channels import Channel, escape
from gpudb.api.charts.fields import escape_fields, list_fields
from gpudb.api.charts.plotted import Plotted
from gpudb.api.charts.summaries import Plane
from gpudb.distribution import render_install

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

MAX_ROWS = 5000
"""The rows that Altair draws by default."""
_MEASURED = frozenset({"quantitative", "temporal"})
_MAP_WIDTH = 500
_MAP_HEIGHTS = (120, 700)
"""A map's pixels."""


def get_altair() -> Any:
    """Returns the module altair, whose charts notebooks then show without a network; ImportError without it."""
    try:
        import altair
    except ImportError as error:
        message = f"a chart needs Altair, which is not installed: {render_install('plot')}"
        raise ImportError(message, name="altair") from error
    ipython = sys.modules.get("IPython")  # it may be imported, and no shell of it run
    if ipython is not None and (shell := ipython.get_ipython()) is not None:
        register_charts(shell)
    return altair


def get_limit() -> int | None:
    """Returns how many rows Altair draws; None where it draws any number."""
    transformers = get_altair().data_transformers
    limit = transformers.options.get("max_rows", MAX_ROWS)
    return limit if transformers.active == "default" and limit is not None else None


def get_drawable(relation: Plotted) -> pl.DataFrame | None:
    """Returns all rows, if they are not more than Altair draws."""
    limit = get_limit()
    rows = relation.head(2**62 if limit is None else limit + 1)
    return None if limit is not None and len(rows) > limit else to_drawable(rows.polars())


def to_drawable(frame: pl.DataFrame) -> pl.DataFrame:
    """Decimals become doubles: JSON has no others."""
    import polars as pl

    return frame.with_columns(pl.col(pl.Decimal).cast(pl.Float64))


def encode(frame: pl.DataFrame, mark: str, encodings: Mapping[str, object], note: str = "", **marked: Any) -> alt.Chart:
    """Returns a chart of the columns that encodings name, of all rows, with a mark and its options."""
    altair = get_altair()
    named, columns = list_fields(encodings), frozenset(frame.columns)
    drawn = to_drawable(frame if named is None else frame.select([name for name in frame.columns if name in named]))
    given = {name: escape_fields(each, columns) for name, each in encodings.items()}
    chart: alt.Chart = getattr(altair.Chart(drawn), f"mark_{mark}")(**marked).encode(**given)
    return chart.properties(title=make_title(note)) if note else chart


def make_title(note: str) -> alt.Title:
    """Returns the note as a title in small letters, which a chart's own may replace."""
    title: alt.Title = get_altair().Title(note, anchor="start", fontSize=11, fontWeight="normal", color="#666")
    return title


def make_binned(name: str, start: str, kind: str, title: str) -> Any:
    """Returns the x or y of bins that begin at a column's values."""
    altair = get_altair()
    channel = altair.X if name.startswith("x") else altair.Y
    return channel(start, type=kind, title=title, **({"bin": "binned"} if kind in _MEASURED else {}))


def draw_plane(plane: Plane, x: Channel, y: Channel, value: Channel, encodings: Mapping[str, object]) -> alt.Chart:
    """Returns the cells of a plane; the value's column gives their colour."""
    given = dict(encodings)
    for name, each, kind in (("x", x, plane.kinds[0]), ("y", y, plane.kinds[1])):
        given[name] = make_binned(name, name, kind, str(each.field))
        if f"{name}2" in plane.frame.columns:
            given[f"{name}2"] = f"{name}2"
    given["color"] = value.point_to("value", "quantitative", "rows" if value.aggregate == "count" else value.title)
    return encode(plane.frame, "rect", given, plane.note)


def _list_tooltips(frame: pl.DataFrame) -> list[Any]:
    """Returns a tooltip of each column."""
    import polars as pl

    tooltip = get_altair().Tooltip
    return [
        tooltip(
            field=escape(name),
            type="quantitative" if kind.is_numeric() else "temporal" if kind in (pl.Date, pl.Datetime) else "nominal",
            title=name,
        )
        for name, kind in frame.schema.items()
    ]


def get_map_size(frame: pl.DataFrame, longitudes: list[str], latitudes: list[str]) -> dict[str, int]:
    """Returns the pixels of a map on which a kilometre is as long across as down, at its middle latitude."""
    across, up = _get_ends(frame, longitudes), _get_ends(frame, latitudes)
    if across is None or up is None or across[0] == across[1]:
        return {"width": _MAP_WIDTH, "height": _MAP_WIDTH}
    width = (across[1] - across[0]) * max(0.1, math.cos(math.radians(min(89.0, abs(sum(up)) / 2))))
    low, high = _MAP_HEIGHTS
    return {"width": _MAP_WIDTH, "height": round(min(high, max(low, _MAP_WIDTH * (up[1] - up[0]) / width)))}


def _get_ends(frame: pl.DataFrame, names: list[str]) -> tuple[float, float] | None:
    values = [float(str(end)) for name in names for end in (frame[name].min(), frame[name].max()) if end is not None]
    return (min(values), max(values)) if values else None


def draw_boxes(
    frame: pl.DataFrame, value: str, category: str | None, encodings: Mapping[str, object]
) -> alt.LayerChart:
    """Returns box plots of the rows of `find_quartiles`."""
    altair = get_altair()
    scale = altair.Scale(zero=False)
    drawn, columns = to_drawable(frame), frozenset(frame.columns)
    given = {name: escape_fields(each, columns) for name, each in encodings.items()}
    base = altair.Chart(drawn).encode(
        **({} if category is None else {"x": altair.X(field=escape(category), type="nominal", title=category)}),
        **{"tooltip": _list_tooltips(drawn), **given},
    )
    whiskers = base.mark_rule().encode(y=altair.Y("low:Q", title=value, scale=scale), y2="high")
    boxes = base.mark_bar(size=18).encode(y="q1:Q", y2="q3")
    middles = base.mark_tick(color="white", size=18).encode(y="median:Q")
    layers: alt.LayerChart = altair.layer(whiskers, boxes, middles)
    rows, outliers = int(frame["rows"].sum() or 0), int(frame["outliers"].sum() or 0)
    return layers.properties(title=make_title(f"{rows:,} rows; {outliers:,} beyond the whiskers"))
