"""Numeric parameters with more digits than a generic plan holds: they are bound with their own precision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

from gpudb.functions.resolve import unify_types
from gpudb.sql.bind.types.literals import build_numeric
from gpudb.types import CARRIED_SCALE, MAX_DIGITS, SqlType


def wide_parameters(values: Sequence[object]) -> Mapping[int, SqlType]:
    """The types of all numeric parameters and arrays of them, by number, if one of them is wide; else none."""
    found = {}
    wide = False
    for number, value in enumerate(values, 1):
        if isinstance(value, Decimal | list) and (types := [build_numeric(each).type for each in _numerics(value)]):
            wide = wide or any(map(_is_wide, types))
            found[number] = (
                unify_types(types) if isinstance(value, Decimal) else replace(unify_types(types), name="_numeric")
            )
    return found if wide else {}


def _numerics(value: object) -> Iterator[Decimal]:
    if isinstance(value, Decimal):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _numerics(each)


def _is_wide(item: SqlType) -> bool:
    precision, scale = item.numeric_digits
    return item.wide or scale > CARRIED_SCALE or precision - scale > MAX_DIGITS - CARRIED_SCALE
