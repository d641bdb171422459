"""Charts of a relation's rows, drawn by Altair: `relation.plot.line(x="day", y="rides")`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Protocol

from gpudb.api.boundary import public
from gpudb.api.chart_pictures import register_charts
from gpudb.api.names import quote_identifier
from gpudb.errors import SqlError

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

    from gpudb.api.rows import Rows

MAX_ROWS = 5000
"""The rows that Altair draws by default."""


class Plotted(Protocol):
    """The part of `Relation` that charts use."""

    def head(self, rows: int = 10) -> Rows:
        """Returns the first rows."""

    def _wrap(self, clause: str, columns: str = "*") -> Plotted:
        """Returns a query around this one."""


class Plot:
    """Charts of a relation. Each method runs the query and returns an `altair.Chart`, which can be changed further.
    In notebooks it is shown with an SVG picture beside it if vl-convert-python is installed.

    `x`, `y` and the other encodings are names of columns, or Altair's shorthands (`"day:T"`, `"sum(miles)"`).
    Errors: ImportError without Altair (the extra `plot`); 54000 for more rows than Altair draws.
    """

    def __init__(self, relation: Plotted) -> None:
        self._relation = relation

    @public
    def line(self, x: str, y: str, **encodings: Any) -> alt.Chart:
        """Returns a line chart."""
        chart: alt.Chart = self.chart().mark_line().encode(x=x, y=y, **encodings)
        return chart

    @public
    def area(self, x: str, y: str, **encodings: Any) -> alt.Chart:
        """Returns an area chart."""
        chart: alt.Chart = self.chart().mark_area().encode(x=x, y=y, **encodings)
        return chart

    @public
    def bar(self, x: str, y: str, **encodings: Any) -> alt.Chart:
        """Returns a bar chart."""
        chart: alt.Chart = self.chart().mark_bar().encode(x=x, y=y, **encodings)
        return chart

    @public
    def scatter(self, x: str, y: str, **encodings: Any) -> alt.Chart:
        """Returns a chart of points."""
        chart: alt.Chart = self.chart().mark_point().encode(x=x, y=y, **encodings)
        return chart

    @public
    def hist(self, column: str, bins: int = 20, **encodings: Any) -> alt.Chart:
        """Returns a histogram of a column of numbers. The database counts: any number of rows will do."""
        name = quote_identifier(column)
        counted = self._relation._wrap(
            f"CROSS JOIN (SELECT {int(bins)} AS bins) AS b WHERE {name} IS NOT NULL", f"{name}::float8 AS value, bins"
        )
        bounded = counted._wrap("", "value, bins, min(value) OVER () AS low, max(value) OVER () AS high")
        placed = bounded._wrap(
            "", "low, high, bins, least(floor((value - low) / nullif(high - low, 0) * bins), bins - 1) AS bin"
        )
        binned = placed._wrap("GROUP BY 1, 2 ORDER BY 1", f"{_START}, {_END}, count(*) AS rows")
        chart: alt.Chart = (
            _chart(binned).mark_bar().encode(x=_binned("start", column), x2="end", y="rows:Q", **encodings)
        )
        return chart

    @public
    def chart(self, **options: Any) -> alt.Chart:
        """Returns a chart of the rows without marks or encodings, to be drawn by Altair's own methods."""
        return _chart(self._relation, **options)


_START = "coalesce(low + bin * (high - low) / bins, low) AS start"
_END = 'coalesce(low + (bin + 1) * (high - low) / bins, low) AS "end"'


def _binned(start: str, title: str) -> alt.X:
    import altair as alt

    return alt.X(start, type="quantitative", bin="binned", title=title)


def _chart(relation: Plotted, **options: Any) -> alt.Chart:
    try:
        import altair as alt
    except ImportError as error:
        message = "a chart needs Altair, which is not installed: pip install 'gpudb[plot]'"
        raise ImportError(message, name="altair") from error
    ipython = sys.modules.get("IPython")  # it may be imported, and no shell of it run
    if ipython is not None and (shell := ipython.get_ipython()) is not None:
        register_charts(shell)
    limit = alt.data_transformers.options.get("max_rows", MAX_ROWS) if _has_limit(alt) else None
    rows = relation.head(2**62 if limit is None else limit + 1)
    if limit is not None and len(rows) > limit:
        message = f"a chart draws at most {limit} rows"
        hint = 'Aggregate, filter or limit them, or call altair.data_transformers.enable("vegafusion").'
        raise SqlError.of("program_limit_exceeded", message, hint=hint)
    return alt.Chart(_to_drawable(rows.polars()), **options)


def _has_limit(alt: Any) -> bool:
    return alt.data_transformers.active == "default" and alt.data_transformers.options.get("max_rows", 0) is not None


def _to_drawable(frame: pl.DataFrame) -> pl.DataFrame:
    """Decimals become doubles: JSON has no others."""
    import polars as pl

    return frame.with_columns(pl.col(pl.Decimal).cast(pl.Float64))
