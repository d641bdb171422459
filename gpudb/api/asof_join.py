"""The SQL of `Relation.asof_join`: a LATERAL subquery, which PostgreSQL runs too and gpudb computes as an ASOF join."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from gpudb.api.names import quote_identifier
from gpudb.api.parameters import format_parameter

Name = str | tuple[str, str]
"""A column of both sides, or one of the left side and one of the right."""
Tolerance = str | dt.timedelta | float


@dataclass(frozen=True, slots=True)
class AsofOptions:
    """The arguments of `Relation.asof_join`, which describes them."""

    on: Name
    by: Name | Sequence[Name]
    available_at: str | None
    tolerance: Tolerance | None
    forward: bool
    strict: bool
    inner: bool
    suffix: str


def build_asof_join(left: tuple[str, Sequence[str]], right: tuple[str, Sequence[str]], options: AsofOptions) -> str:
    """Returns the query of a join of two queries, each with the names of its columns; ValueError for wrong options."""
    if options.forward and options.available_at is not None:
        raise ValueError("available_at is for a join with earlier rows")
    keys = _pairs(options.by)
    (mine, theirs) = _pair(options.on)
    time, other = f"l.{quote_identifier(mine)}", f"r.{quote_identifier(theirs)}"
    symbol = (">" if options.forward else "<") + ("" if options.strict else "=")
    conditions = [f"r.{quote_identifier(b)} = l.{quote_identifier(a)}" for a, b in keys]
    conditions.append(f"{other} {symbol} {time}")
    if options.available_at is not None:
        conditions.append(f"r.{quote_identifier(options.available_at)} {symbol} {time}")
    if options.tolerance is not None:
        distance = _format_tolerance(options.tolerance)
        bound = f"<= {time} + {distance}" if options.forward else f">= {time} - {distance}"
        conditions.append(f"{other} {bound}")
    taken = set(left[1])
    dropped = {b for a, b in keys if a == b}
    kept = [name for name in right[1] if name not in dropped]
    names = [name + options.suffix if name in taken else name for name in kept]
    shown = [f"l.{quote_identifier(name)}" for name in left[1]]
    shown += [f"r.{quote_identifier(a)} AS {quote_identifier(b)}" for a, b in zip(kept, names, strict=True)]
    inside = ", ".join(f"r.{quote_identifier(name)}" for name in kept)
    nearest = (
        f"SELECT {inside} FROM (\n{right[0]}\n) AS r WHERE {' AND '.join(conditions)}"
        f" ORDER BY {other}{'' if options.forward else ' DESC'} LIMIT 1"
    )
    how = "CROSS JOIN" if options.inner else "LEFT JOIN"
    always = "" if options.inner else " ON true"
    return f"SELECT {', '.join(shown)} FROM (\n{left[0]}\n) AS l {how} LATERAL ({nearest}) AS r{always}"


def _pair(name: Name) -> tuple[str, str]:
    return (name, name) if isinstance(name, str) else name


def _pairs(by: Name | Sequence[Name]) -> list[tuple[str, str]]:
    """Returns the pairs of key columns; two names in a tuple are one pair."""
    if isinstance(by, str):
        return [(by, by)]
    return [_pair(each) for each in by]


def _format_tolerance(value: Tolerance) -> str:
    if isinstance(value, int | float):
        return f"({value!r})"
    text = value if isinstance(value, str) else format_parameter(value)
    quoted = text.replace("'", "''")
    return f"interval '{quoted}'"
