"""Bins of equal width over a column of numbers or times, found and counted in SQL."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from gpudb.api.charts.plotted import Plotted
from gpudb.api.names import quote_identifier
from gpudb.errors import SqlError
from gpudb.session.results import ResultColumn
from gpudb.types.facts import INTEGERS, NUMBERS

TIMES = frozenset({"date", "timestamp", "timestamptz"})
_DIGITS = 308
"""The characters of a decimal number of which doubles neither overflow nor underflow."""
Edge = float | datetime


def is_measured(field: ResultColumn) -> bool:
    """Whether a column has numbers or times, which bins can hold."""
    return field.type.name in NUMBERS | TIMES


@dataclass(frozen=True, slots=True)
class Axis:
    """Bins from the least value of a column to the greatest; times are in seconds since 1970."""

    field: ResultColumn
    low: float
    high: float
    bins: int

    @property
    def kind(self) -> str:
        """Vega-Lite's type of it."""
        return "temporal" if self.field.type.name in TIMES else "quantitative"

    @property
    def is_single(self) -> bool:
        """Whether it has one value alone."""
        return self.low == self.high

    def build_bin(self) -> str:
        """Returns the SQL of the bin's number, from 0."""
        if self.is_single:
            return "0::int4"
        part = 1.0 if math.isfinite(self.high - self.low) else 0.5  # the halves of numbers have a difference
        low, width = _write(self.low * part), _write(self.high * part - self.low * part)
        number = get_number(self.field) + ("" if part == 1.0 else f" * {_write(part)}")
        place = f"floor(({number} - {low}) / {width} * {self.bins})"
        return f"greatest(least({place}, {self.bins - 1}), 0)::int4"

    def get_edges(self, number: int) -> tuple[Edge, Edge]:
        """Returns where a bin begins and ends."""
        if self.is_single:
            return self._to_value(self.low), self._to_value(self.high)
        return self._get_edge(number), self._get_edge(number + 1)

    def _get_edge(self, number: int) -> Edge:
        width = (self.high - self.low) / self.bins
        if math.isfinite(width):
            return self._to_value(self.low + number * width)
        share = number / self.bins
        return self._to_value(self.low * (1 - share) + self.high * share)

    def _to_value(self, number: float) -> Edge:
        if self.field.type.name not in TIMES:
            return number
        zone = UTC if self.field.type.name == "timestamptz" else None
        try:
            return datetime(1970, 1, 1, tzinfo=zone) + timedelta(seconds=number)
        except OverflowError:
            message = f'column "{self.field.name}" holds a {self.field.type} outside the years 1 to 9999'
            raise SqlError.of("datetime_field_overflow", message) from None


def get_number(field: ResultColumn) -> str:
    """Returns the SQL of a column's values as doubles; NULL for a numeric beyond all doubles."""
    name = quote_identifier(field.name)
    if field.type.name in TIMES:
        return f"extract(epoch FROM {name})::float8"
    if field.type.name == "numeric" and (field.type.modifier == -1 or field.type.numeric_digits[0] > _DIGITS):
        first = f"left({name}::text, {_DIGITS})"  # the rest is behind the point, or the number is too great
        return f"CASE WHEN length({name}::text) <= {_DIGITS} OR {first} LIKE '%.%' THEN {first}::float8 END"
    return f"{name}::float8"


def build_condition(fields: Sequence[ResultColumn]) -> str:
    """Returns the SQL condition that the columns have values, and finite ones."""
    parts = []
    for field in fields:
        parts.append(f"{quote_identifier(field.name)} IS NOT NULL")
        if is_measured(field) and field.type.name not in INTEGERS:
            number = f"({get_number(field)})"
            parts.append(f"{number} > '-Infinity'::float8 AND {number} < 'Infinity'::float8")
    return " AND ".join(parts)


def measure(
    relation: Plotted, fields: Sequence[ResultColumn], bins: Sequence[int], others: Sequence[ResultColumn] = ()
) -> tuple[list[Axis], int, int]:
    """Returns the axes of columns, the number of rows with values in all and in `others`, and of all rows."""
    for count in bins:
        if count < 1:
            raise SqlError.of("invalid_parameter_value", f"the number of bins must be positive, not {count}")
    condition = build_condition([*fields, *others]) or "true"
    bounds = "".join(
        f", min({get_number(field)}) FILTER (WHERE {condition}), max({get_number(field)}) FILTER (WHERE {condition})"
        for field in fields
    )
    row = relation._wrap("", f"count(*), count(*) FILTER (WHERE {condition}){bounds}").fetchone()
    assert row is not None
    total, used, *ends = row
    pairs = zip(ends[::2], ends[1::2], strict=True)
    axes = [
        Axis(field, float(str(low)) if used else 0.0, float(str(high)) if used else 0.0, int(number))
        for field, (low, high), number in zip(fields, pairs, bins, strict=True)
    ]
    return axes, int(str(used)), int(str(total))


def _write(number: float) -> str:
    return f"'{number!r}'::float8"
