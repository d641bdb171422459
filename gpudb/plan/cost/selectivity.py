"""Selectivity of conditions by column profiles, with the usual defaults where these do not help."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpudb.functions.library import COMMUTATORS, get_comparison
from gpudb.plan.cost.profile import ColumnProfile, Profile, to_number
from gpudb.sql import bound
from gpudb.sql.traverse import split_conjuncts
from gpudb.sql.widening import bare
from gpudb.types import SqlType

RANGE_SELECTIVITY = 1 / 3
"""Default selectivity of a range comparison whose bounds are unknown."""
LIKE_SELECTIVITY = 0.1
_MOMENT_TYPES = {"date", "timestamp", "timestamptz"}
_DAY = 86_400e6


@dataclass(slots=True)
class _Range:
    """Range of one column that several conditions define together."""

    low: float | None = None
    high: float | None = None
    bounds: int = 0


def filter_profile(profile: Profile, condition: Any | None) -> Profile:
    """Applies a filter to a profile: fewer rows, and narrower columns where it compares them with constants."""
    if condition is None:
        return profile
    ranges: dict[int, _Range] = {}
    share = 1.0
    columns = list(profile.columns)
    for part in split_conjuncts(condition):
        found = _match_comparison(part)
        if found is None or found[1] == "<>" or found[0] >= len(columns):
            share *= _part_selectivity(part, columns)
            if (listed := _match_list(part)) is not None and listed[0] < len(columns):
                columns[listed[0]] = _limit_distinct(columns[listed[0]], float(listed[1]))
            continue
        index, symbol, value = found
        if symbol == "=":
            share *= _equality_selectivity(columns[index], value)
            columns[index] = _limit_distinct(columns[index], 1.0)
            continue
        at = ranges.setdefault(index, _Range())
        at.bounds += 1
        if symbol in {">", ">="}:
            at.low = value if at.low is None or value is None else max(at.low, value)
        else:
            at.high = value if at.high is None or value is None else min(at.high, value)
    for index, at in ranges.items():
        part_share, columns[index] = _range_selectivity(columns[index], at)
        share *= part_share
    return Profile(profile.rows, tuple(columns), profile.base).limit_rows(profile.rows * share)


def selectivity(condition: Any | None, columns: Sequence[ColumnProfile]) -> float:
    """Returns the share of rows for which a condition is true."""
    share = 1.0
    for part in split_conjuncts(condition):
        share *= _part_selectivity(part, columns)
    return share


def _match_comparison(part: Any) -> tuple[int, str, float | None] | None:
    """Matches `column op constant`; returns column, operator and constant, the constant None if it is known at run time
    only.
    """
    if not isinstance(part, bound.Call) or len(part.args) != 2:
        return None
    symbol = get_comparison(part.function)
    left, right = (bare(each) for each in part.args)
    if symbol is None:
        return None
    if isinstance(right, bound.Column):
        left, right, symbol = right, left, COMMUTATORS[symbol]
    if not isinstance(left, bound.Column) or not isinstance(right, bound.Constant | bound.Parameter):
        return None
    return left.index, symbol, _bound_value(right, left.type) if isinstance(right, bound.Constant) else None


def _bound_value(constant: bound.Constant, kind: SqlType) -> float | None:
    """Converts a constant to the unit of a column's bounds: days for dates, microseconds for other moments."""
    found, own_name = to_number(constant.value), constant.type.name
    if found is None or own_name == kind.name or not {own_name, kind.name} <= _MOMENT_TYPES:
        return found
    return found / _DAY if kind.name == "date" else found * _DAY if own_name == "date" else found


def _equality_selectivity(column: ColumnProfile, value: float | None) -> float:
    if value is not None and column.low is not None and column.high is not None:
        if not column.low <= value <= column.high:
            return 1e-9
    return (1 - column.nulls) / max(column.distinct, 1.0)


def _range_selectivity(column: ColumnProfile, at: _Range) -> tuple[float, ColumnProfile]:
    if column.low is None or column.high is None or (at.low is None and at.high is None):
        return RANGE_SELECTIVITY**at.bounds, _limit_distinct(column, column.distinct * RANGE_SELECTIVITY**at.bounds)
    low = column.low if at.low is None else max(at.low, column.low)
    high = column.high if at.high is None else min(at.high, column.high)
    if low > high:
        return 1e-9, _limit_distinct(column, 1.0)
    spread = column.high - column.low
    share = min((high - low) / spread, 1.0) if spread > 0 else 1.0
    share = max(share, 1 / max(column.distinct, 1.0))
    narrower = _limit_distinct(column, column.distinct * share)
    return share * (1 - column.nulls), replace(narrower, low=low, high=high)


def _limit_distinct(column: ColumnProfile, distinct: float) -> ColumnProfile:
    """Returns the column's profile after a condition on itself leaves `distinct` values, which become its domain."""
    left = max(min(distinct, column.distinct), 1.0)
    return replace(column, distinct=left, domain=max(column.domain * left / max(column.distinct, 1.0), 1.0))


def _part_selectivity(part: Any, columns: Sequence[ColumnProfile]) -> float:
    match part:
        case bound.Constant(value=value):
            return 1.0 if value is True else 1e-9
        case bound.BoolOp(op="AND"):
            return selectivity(part, columns)
        case bound.BoolOp(op="OR", args=args):
            if _match_list(part) is not None:
                return min(sum(_part_selectivity(each, columns) for each in args), 1.0)
            missed = 1.0
            for each in args:
                missed *= 1 - _part_selectivity(each, columns)
            return 1 - missed
        case bound.BoolOp(op="NOT", args=(arg,)):
            return max(1 - _part_selectivity(arg, columns), 0.001)
        case bound.Test(arg=bound.Column(index=index), what="NULL", negated=negated) if index < len(columns):
            return 1 - columns[index].nulls if negated else max(columns[index].nulls, 0.001)
        case bound.Test(negated=negated):
            return 1.0 if negated else RANGE_SELECTIVITY
        case bound.InList(arg=arg, items=items, negated=negated):
            share = min(len(items) / _count_distinct(arg, columns), 0.5)
            return 1 - share if negated else share
        case bound.Call(args=(left, right), function=function):
            symbol = get_comparison(function)
            if symbol in {"=", "<>"}:
                share = 1 / max(_count_distinct(left, columns), _count_distinct(right, columns))
                return share if symbol == "=" else 1 - share
            if symbol is not None:
                found = _match_comparison(part)
                if found is None or found[0] >= len(columns):
                    return RANGE_SELECTIVITY
                at = _Range(bounds=1)
                setattr(at, "low" if found[1] in {">", ">="} else "high", found[2])
                return _range_selectivity(columns[found[0]], at)[0]
            return (
                1 - LIKE_SELECTIVITY
                if "nlike" in function.name
                else LIKE_SELECTIVITY
                if "like" in function.name
                else RANGE_SELECTIVITY
            )
        case _:
            return RANGE_SELECTIVITY


def _match_list(part: Any) -> tuple[int, int] | None:
    """Matches a condition that a column has one of several values, by IN or by equalities under OR."""
    match part:
        case bound.InList(arg=arg, items=items, negated=False) if isinstance(column := bare(arg), bound.Column):
            return column.index, len(items)
        case bound.BoolOp(op="OR", args=args):
            found = [_match_comparison(each) for each in args]
            columns = {each[0] for each in found if each is not None and each[1] == "="}
            if len(columns) == 1 and all(each is not None and each[1] == "=" for each in found):
                return columns.pop(), len(args)
    return None


def _count_distinct(expr: Any, columns: Sequence[ColumnProfile]) -> float:
    inner = bare(expr)
    if isinstance(inner, bound.Column) and inner.index < len(columns):
        return max(columns[inner.index].distinct, 1.0)
    return 1.0 if isinstance(inner, bound.Constant | bound.Parameter) else 20.0
