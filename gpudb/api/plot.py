"""Charts of a relation's rows, drawn by Altair: `relation.plot.line(x="day", y="rides")`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gpudb.api.boundary import public
from gpudb.api.charts.axes import is_measured
from gpudb.api.charts.categories import rank
from gpudb.api.charts.channels import Channel, escape, list_columns, read_channel, read_channels, refuse
from gpudb.api.charts.drawing import (
    MAX_ROWS,
    draw_boxes,
    draw_plane,
    encode,
    get_altair,
    get_drawable,
    get_limit,
    get_map_size,
    make_binned,
)
from gpudb.api.charts.plotted import Plotted, get_fields
from gpudb.api.charts.quartiles import find_quartiles
from gpudb.api.charts.summaries import bin_column, bin_line, bin_plane, count_rows, find, group, sample
from gpudb.errors import SqlError
from gpudb.types.facts import NUMBERS

if TYPE_CHECKING:
    import altair as alt

MAX_BARS = 50
"""The bars of a chart of more rows than Altair draws."""
_CELLS = (60, 40)
_MAP_CELLS = (80, 60)
"""The bins across and down."""


class Plot:
    """Charts of a relation. Each method runs the query and returns an `altair.Chart`, which can be changed further.

    `x`, `y` and the other encodings are names of columns, or Altair's shorthands (`"day:T"`, `"sum(miles)"`) or
    objects. A chart holds the columns that they name; `chart()` holds all. A chart of more rows than Altair draws
    (5,000) is computed by the database, of any number of rows, and its title says how. Errors: ImportError without
    Altair (the extra `plot`); 54000 for more rows, series or cells than are drawn, where the database cannot make them
    fewer; 42703 for a column that is missing, 42702 for one of the name of a column that the chart computes.
    """

    def __init__(self, relation: Plotted) -> None:
        self._relation = relation

    @public
    def line(self, x: str, y: str, **encodings: Any) -> alt.Chart:
        """Returns a line chart; of many rows the least and the greatest value of each bin of `x`."""
        return self._draw_line("line", x, y, encodings)

    @public
    def area(self, x: str, y: str, **encodings: Any) -> alt.Chart:
        """Returns an area chart; of many rows the mean of each bin of `x`."""
        return self._draw_line("area", x, y, encodings)

    @public
    def bar(self, x: str, y: str, **encodings: Any) -> alt.Chart:
        """Returns a bar chart; of many rows the sums of the categories, the 50 largest and one for the others."""
        given = {"x": x, "y": y, **encodings}
        drawable = get_drawable(self._relation)
        if drawable is not None:
            return encode(drawable, "bar", given)
        value, category = self._find_value(x, y)
        given[value.name] = value.given
        grouped, pointed = group(self._relation, given)
        if category.is_discrete or not is_measured(find(get_fields(grouped), category.field)):
            groups = [name for name in list_columns(read_channels(encodings)) if name != category.field]
            ranked = rank(grouped, category, value, groups, largest=MAX_BARS, limit=get_limit())
            if ranked is not None:
                summary, order = ranked
                pointed[category.name] = category.point_to(
                    str(category.field), "nominal", str(category.field), sort=order
                )
                return encode(summary.frame, "bar", pointed, summary.note)
        bars = get_drawable(grouped)
        if bars is None:
            raise refuse(f"a chart draws at most {get_limit():,} bars")
        return encode(bars, "bar", pointed)

    def _find_value(self, x: str, y: str) -> tuple[Channel, Channel]:
        """Returns the channel of the bars' lengths, summed if nothing else is said, and that of their categories."""
        across, up = read_channel("x", x), read_channel("y", y)
        if up.aggregate is None and (across.aggregate is not None or self._is_category(up)):
            across, up = up, across
        if up.aggregate is None:
            field = find(get_fields(self._relation), up.field)
            if field.type.name not in NUMBERS:
                raise refuse(f'a bar for each of many rows cannot be drawn, and "{field.name}" has no sum')
            total = up.point_to(field.name, "quantitative", f"Sum of {field.name}", aggregate="sum")
            up = read_channel(up.name, total)
        return up, across

    def _is_category(self, channel: Channel) -> bool:
        return channel.is_discrete or not is_measured(find(get_fields(self._relation), channel.field))

    @public
    def scatter(self, x: str, y: str, *, sample_rows: int | None = None, **encodings: Any) -> alt.Chart:
        """Returns a chart of points; of many rows the numbers of rows in bins of `x` and `y`.

        With `sample_rows`, with further columns (`color="cab"`), or of categories, many rows are a random sample: of
        that size, or of as many rows as Altair draws.
        """
        drawable = get_drawable(self._relation)
        given = {"x": x, "y": y, **encodings}
        if drawable is not None:
            return encode(drawable, "point", given)
        relation, pointed = group(self._relation, given)
        across, up, *others = read_channels(pointed)
        if sample_rows is None and not others and not self._is_category(across) and not self._is_category(up):
            return self.heatmap(x, y, **encodings)
        points = sample(relation, count_rows(relation), sample_rows or get_limit() or MAX_ROWS)
        return encode(points.frame, "point", pointed, points.note)

    @public
    def heatmap(
        self, x: str, y: str, color: Any = "count()", *, bins: tuple[int, int] = _CELLS, **encodings: Any
    ) -> alt.Chart:
        """Returns cells whose colour is the number of rows, or an aggregate (`color="mean(miles)"`).

        Numbers and times are cut into `bins` across and down; other columns, and those of type `:N` and `:O`, have a
        cell for each value. The database counts: any number of rows will do.
        """
        return self._draw_cells(read_channel("x", x), read_channel("y", y), color, bins, encodings)

    def _draw_cells(
        self, x: Channel, y: Channel, color: Any, bins: tuple[int, int], encodings: Mapping[str, Any]
    ) -> alt.Chart:
        value = read_channel("color", color)
        if value.aggregate is None:
            hint = 'Colour by "count()", or by an aggregate of a column: "mean(miles)".'
            raise SqlError.of("invalid_parameter_value", "a cell of several rows has one colour", hint=hint)
        groups = list_columns(read_channels(encodings))
        plane = bin_plane(self._relation, x, y, value, groups, bins, limit=get_limit())
        return draw_plane(plane, x, y, value, encodings)

    @public
    def map(
        self,
        longitude: str,
        latitude: str,
        color: Any = None,
        *,
        bins: tuple[int, int] = _MAP_CELLS,
        **encodings: Any,
    ) -> alt.Chart:
        """Returns points by longitude and latitude, in degrees, as far apart as on the ground at the middle latitude.

        Of many rows the numbers of rows in `bins` across and down, or an aggregate (`color="mean(miles)"`). There is
        no background: its tiles would come from another host.
        """
        altair = get_altair()
        across, up = read_channel("x", longitude), read_channel("y", latitude)
        given = encodings if color is None else {"color": color, **encodings}
        is_computed = color is not None and read_channel("color", color).aggregate is not None
        drawable = None if is_computed else get_drawable(self._relation)
        if drawable is None:
            chart = self._draw_cells(across, up, "count()" if color is None else color, bins, encodings)
            return chart.properties(**get_map_size(chart.data, ["x", "x2"], ["y", "y2"]))
        scale = altair.Scale(zero=False, nice=False)
        x, y = (
            channel(field=escape(str(each.field)), type="quantitative", scale=scale)
            for channel, each in ((altair.X, across), (altair.Y, up))
        )
        chart = encode(drawable, "circle", {"x": x, "y": y, **given})
        return chart.properties(**get_map_size(drawable, [str(across.field)], [str(up.field)]))

    @public
    def hist(self, column: str, bins: int = 20, **encodings: Any) -> alt.Chart:
        """Returns a histogram of a column of numbers or times. The database counts: any number of rows will do."""
        field = find(get_fields(self._relation), column)
        if not is_measured(field):
            message = f'a histogram is of numbers or times, and "{column}" is of type {field.type}'
            raise SqlError.of("datatype_mismatch", message, hint='Use bar, with y="count()".')
        groups = list_columns(read_channels(encodings))
        counted = bin_column(self._relation, field, bins, groups, limit=get_limit())
        x = make_binned("x", "start", counted.kind, field.name)
        return encode(counted.frame, "bar", {"x": x, "x2": "end", "y": "rows:Q", **encodings}, counted.note)

    @public
    def box(self, y: str, x: str | None = None, **encodings: Any) -> alt.LayerChart:
        """Returns box plots of a column of numbers, one for each value of `x`: median, quartiles, and the last values
        within one and a half times their distance (Tukey).

        The database computes them, of any number of rows; tooltips have the least and the greatest value and the number
        of those beyond the whiskers.
        """
        fields = get_fields(self._relation)
        value, category = find(fields, y), None if x is None else find(fields, read_channel("x", x).field).name
        if value.type.name not in NUMBERS:
            raise SqlError.of("datatype_mismatch", f'boxes are of numbers, and "{y}" is of type {value.type}')
        groups = list(
            dict.fromkeys([*([] if category is None else [category]), *list_columns(read_channels(encodings))])
        )
        frame = find_quartiles(self._relation, value, groups, limit=get_limit() or MAX_ROWS)
        return draw_boxes(frame, value.name, category, encodings)

    @public
    def chart(self, **options: Any) -> alt.Chart:
        """Returns a chart of the rows without marks or encodings, to be drawn by Altair's own methods.

        54000 for more rows than Altair draws.
        """
        drawable = get_drawable(self._relation)
        if drawable is None:
            raise refuse(f"a chart draws at most {get_limit():,} rows")
        chart: alt.Chart = get_altair().Chart(drawable, **options)
        return chart

    def _draw_line(self, mark: str, x: str, y: str, encodings: Mapping[str, Any]) -> alt.Chart:
        given = {"x": x, "y": y, **encodings}
        drawable = get_drawable(self._relation)
        if drawable is not None:
            return encode(drawable, mark, given)
        relation, pointed = group(self._relation, given)
        if relation is not self._relation and (drawable := get_drawable(relation)) is not None:
            return encode(drawable, mark, pointed)
        across, up, *others = read_channels(pointed)
        if across.is_discrete or not is_measured(find(get_fields(relation), across.field)):
            raise refuse(f'"{across.field}" has no order in which bins could be drawn')
        limit = get_limit() or MAX_ROWS
        line = bin_line(relation, across, up, list_columns(others), limit=limit, extremes=mark == "line")
        return encode(line.frame, mark, pointed, line.note)
