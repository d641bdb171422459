"""Fewer rows for charts of many: the database groups, bins and samples them, and a note says what is drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gpudb.api.charts.axes import TIMES, Axis, build_condition, is_measured, measure
from gpudb.api.charts.channels import Channel, list_columns, read_channels, refuse, unescape
from gpudb.api.charts.plotted import Plotted, get_fields
from gpudb.api.names import quote_identifier
from gpudb.errors import SqlError, UndefinedColumn
from gpudb.session.results import ResultColumn

if TYPE_CHECKING:
    import polars as pl

LINE_BINS = 400
"""The bins of a line of many rows: the pixels across, with which Vega-Lite draws a chart by default."""

_DEVIATIONS = 4
"""The standard deviations by which a sample's expected size is below the greatest."""


@dataclass(frozen=True, slots=True)
class Summary:
    """Rows to draw, and what they are; '' where they are what the chart's own query would give."""

    frame: pl.DataFrame
    note: str = ""


def find(fields: Mapping[str, ResultColumn], name: str | None) -> ResultColumn:
    """Returns a column by its name, or as Vega-Lite's definitions have it; 42703 if there is none."""
    for each in () if name is None else (name, unescape(name)):
        if each in fields:
            return fields[each]
    raise UndefinedColumn(f'column "{name}" does not exist')


def fetch(relation: Plotted, limit: int | None, what: str) -> pl.DataFrame:
    """Returns all rows; 54000 if they are more than the limit, beyond which none are fetched but one."""
    if limit is None:
        return relation.polars()
    frame = relation._wrap(f"LIMIT {limit + 1}").polars()
    if len(frame) > limit:
        raise refuse(f"a chart draws at most {limit:,} {what}")
    return frame


def group(relation: Plotted, encodings: Mapping[str, object]) -> tuple[Plotted, dict[str, object]]:
    """Returns the relation of a chart's aggregates, and the encodings of their columns.

    As in Vega-Lite, the groups are all columns that are read as they are. 54000 for what SQL cannot compute.
    """
    channels = read_channels(encodings)
    if transformed := next((each for each in channels if each.transform), None):
        raise refuse(f'"{transformed.transform}" of {transformed.name} is computed by Vega-Lite, of fewer rows')
    if not any(each.aggregate for each in channels):
        return relation, dict(encodings)
    columns = [quote_identifier(name) for name in list_columns(channels)]
    computed = dict.fromkeys(
        f"{each.build_aggregate()} AS {quote_identifier(each.column)}" for each in channels if each.aggregate
    )
    clause = "GROUP BY " + ", ".join(columns) if columns else ""
    grouped = relation._wrap(clause, ", ".join([*columns, *computed]))
    types = get_fields(grouped)
    pointed = dict(encodings)
    for each in channels:
        if each.aggregate:
            kind = Axis(types[each.column], 0, 0, 1).kind
            new = each.point_to(each.column, kind, each.title)
            old = pointed[each.name]
            pointed[each.name] = [new if one is each.given else one for one in old] if isinstance(old, list) else new
    return grouped, pointed


def bin_line(
    relation: Plotted, x: Channel, y: Channel, groups: Sequence[str], *, limit: int, extremes: bool
) -> Summary:
    """Returns the least and the greatest `y` of each bin of `x`, at its least `x`, for each of the groups; or the mean.

    54000 if there are more groups than the limit has room for.
    """
    fields = get_fields(relation)
    across, up = find(fields, x.field), find(fields, y.field)
    (axis,), used, total = measure(relation, [across], [LINE_BINS], [up])
    if axis.is_single:
        axis = replace(axis, bins=1)
    names = [name for name in groups if name not in {across.name, up.name}]
    if names and (lines := _count_lines(relation, [across, up], names)) > limit:
        raise refuse(f"{lines:,} lines are more than the {limit:,} rows that are drawn")
    while True:
        binned = _bin_once(relation, axis, up, names, extremes=extremes)
        frame = binned._wrap(f"LIMIT {limit + 1}").polars()
        if len(frame) <= limit:
            break
        rows = count_rows(binned)
        if axis.bins == 1:
            raise refuse(f"lines of {rows:,} rows are more than the {limit:,} that are drawn")
        axis = replace(axis, bins=max(1, min(axis.bins - 1, axis.bins * limit // rows)))
    drawn = "the least and the greatest" if extremes else "the mean"
    bins = "one bin" if axis.bins == 1 else f"each of {axis.bins:,} bins"
    return Summary(frame, f"{describe_rows(used, total)}: {drawn} of {bins}")


def _count_lines(relation: Plotted, ends: Sequence[ResultColumn], groups: Sequence[str]) -> int:
    names = ", ".join(map(quote_identifier, groups))
    return count_rows(relation._wrap(f"WHERE {build_condition(ends)} GROUP BY {names}", names))


def _bin_once(relation: Plotted, axis: Axis, up: ResultColumn, groups: Sequence[str], *, extremes: bool) -> Plotted:
    names = [quote_identifier(name) for name in groups]
    x, y = quote_identifier(axis.field.name), quote_identifier(up.name)
    keys = ", ".join(str(number + 1) for number in range(1 + len(names)))
    clause = f"WHERE {build_condition([axis.field, up])} GROUP BY {keys}"
    grouped = ", ".join([f"{axis.build_bin()} AS gpudb_bin", *names])
    kept = "".join(f"{name}, " for name in names)
    if not extremes:
        binned = relation._wrap(clause, f"{grouped}, min({x}) AS gpudb_x, avg({y})::float8 AS gpudb_y")
        return binned._wrap("ORDER BY gpudb_x", f"{kept}gpudb_x AS {x}, gpudb_y AS {y}")
    binned = relation._wrap(clause, f"{grouped}, min({x}) AS gpudb_x, min({y}) AS gpudb_low, max({y}) AS gpudb_high")
    return binned._wrap(
        "CROSS JOIN (VALUES (0), (1)) AS ends (gpudb_end) WHERE gpudb_end = 0 OR gpudb_low < gpudb_high"
        " ORDER BY gpudb_x, gpudb_end",
        f"{kept}gpudb_x AS {x}, CASE gpudb_end WHEN 0 THEN gpudb_low ELSE gpudb_high END AS {y}",
    )


def sample(relation: Plotted, total: int, size: int) -> Summary:
    """Returns rows, each as likely as any other: somewhat fewer than `size`, so that none has to be cut off."""
    share = max(1.0, size - _DEVIATIONS * math.sqrt(size)) / total
    frame = relation._wrap(f"WHERE random() < '{share!r}'::float8 LIMIT {size}").polars()
    return Summary(frame, f"a sample of {len(frame):,} of {total:,} rows")


def count_rows(relation: Plotted) -> int:
    """Returns the number of rows."""
    row = relation._wrap("", "count(*)").fetchone()
    assert row is not None
    return int(str(row[0]))


@dataclass(frozen=True, slots=True)
class Bins:
    """Bins of one column: start, end, rows, and the groups; `kind` is Vega-Lite's type of the ends."""

    frame: pl.DataFrame
    kind: str
    note: str


def bin_column(relation: Plotted, field: ResultColumn, bins: int, groups: Sequence[str], *, limit: int | None) -> Bins:
    """Returns the number of rows in each bin that has some; 54000 for more bins than the limit."""
    import polars as pl

    check_names(groups, ("start", "end", "rows"))
    (axis,), used, total = measure(relation, [field], [bins])
    names = [quote_identifier(name) for name in groups]
    numbers = ", ".join(str(number + 1) for number in range(1 + len(names)))
    counted = relation._wrap(
        f"WHERE {build_condition([field])} GROUP BY {numbers} ORDER BY {numbers}",
        ", ".join([f"{axis.build_bin()} AS bin", *names, "count(*) AS rows"]),
    )
    frame = fetch(counted, limit, "bars")
    ends = _get_ends(axis, frame["bin"], ("start", "end"))
    kept = frame.drop("bin")
    note = "" if used == total else describe_rows(used, total)
    return Bins(pl.DataFrame([*ends, kept["rows"], *kept.drop("rows").get_columns()]), axis.kind, note)


def _get_ends(axis: Axis, bins: pl.Series, names: tuple[str, str]) -> list[pl.Series]:
    """Returns where bins begin and end, as columns of these names."""
    import polars as pl

    zone = "UTC" if axis.field.type.name == "timestamptz" else None
    kind = pl.Datetime("us", zone) if axis.field.type.name in TIMES else pl.Float64()
    edges = [axis.get_edges(number) for number in bins]
    return [pl.Series(name, [edge[end] for edge in edges], kind) for end, name in enumerate(names)]


def check_names(groups: Sequence[str], taken: Sequence[str]) -> None:
    """42702 for groups of the name of a column that the chart has itself."""
    if clash := [name for name in groups if name in taken]:
        raise SqlError.of(
            "ambiguous_column", f'the chart has a column "{clash[0]}" of its own: give yours another name'
        )


def describe_rows(used: int, total: int) -> str:
    """Returns how many rows are drawn, and how many have no value."""
    rest = "" if used == total else f" ({total - used:,} more without a value)"
    return f"{used:,} row{'' if used == 1 else 's'}{rest}"


@dataclass(frozen=True, slots=True)
class Plane:
    """Cells of two axes: x, x2, y and y2 are their edges, or x and y categories; with `value` and the groups."""

    frame: pl.DataFrame
    kinds: tuple[str, str]
    note: str


def bin_plane(
    relation: Plotted,
    x: Channel,
    y: Channel,
    value: Channel,
    groups: Sequence[str],
    bins: tuple[int, int],
    *,
    limit: int | None,
) -> Plane:
    """Returns the value, an aggregate, of each cell that has rows; 54000 for more cells than the limit."""
    check_names(groups, ("x", "x2", "y", "y2", "value"))
    fields = get_fields(relation)
    ends = {name: find(fields, each.field) for name, each in (("x", x), ("y", y))}
    is_binned = {name: is_measured(ends[name]) and not each.is_discrete for name, each in (("x", x), ("y", y))}
    measured = [name for name in ends if is_binned[name]]
    counts = [count for name, count in zip(ends, bins, strict=True) if is_binned[name]]
    others = [ends[name] for name in ends if not is_binned[name]]
    found, used, total = measure(relation, [ends[name] for name in measured], counts, others)
    axes = dict(zip(measured, found, strict=True))
    keys = [
        f"{axes[name].build_bin() if name in axes else quote_identifier(field.name)} AS {name}"
        for name, field in ends.items()
    ]
    kept = [quote_identifier(each) for each in groups]
    numbers = ", ".join(str(number + 1) for number in range(len(keys) + len(kept)))
    clause = f"WHERE {build_condition(list(ends.values()))} GROUP BY {numbers} ORDER BY {numbers}"
    cells = relation._wrap(clause, ", ".join([*keys, *kept, f"{value.build_aggregate()} AS value"]))
    frame = fetch(cells, limit, "cells")
    for name, axis in axes.items():
        frame = frame.with_columns(_get_ends(axis, frame[name], (name, f"{name}2")))
    size = " × ".join(f"{count:,}" for count in counts)
    note = describe_rows(used, total) + (f" in {size} bins" if size else "")
    kinds = [axes[name].kind if name in axes else each.kind or "nominal" for name, each in (("x", x), ("y", y))]
    return Plane(frame, (kinds[0], kinds[1]), note)
