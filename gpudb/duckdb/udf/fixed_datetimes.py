"""Texts whose dates and times stand where a template has them, read for all rows at once: `2024-02-29 12:34:56.789`.

Every field has all its digits, one separator stands for each of the template's, and a text may end after any field.
Other texts, and those that are no valid time, are not read here: `to_date` reads them one by one, by the same rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gpudb.duckdb.udf.datetime_templates import parse_template
from gpudb.values.calendar_columns import days_from_civil, days_in_month
from gpudb.values.text_pieces import Bytes, Integers, Mask

_WIDTHS = {"YYYY": 4, "MM": 2, "DD": 2, "DDD": 3, "HH24": 2, "MI": 2, "SS": 2, "MS": 3, "US": 6, "FF6": 6, "FF3": 3}
_MICROSECONDS = {"HH24": 3_600_000_000, "MI": 60_000_000, "SS": 1_000_000, "MS": 1000, "US": 1, "FF3": 1000, "FF6": 1}
_MOST = {"HH24": 23, "MI": 59, "SS": 59}
_FRACTIONS = frozenset({"MS", "US", "FF3", "FF6"})


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the fields of a template begin, by keyword, where its separators are, and how long it is."""

    fields: tuple[tuple[str, int], ...]
    separators: tuple[int, ...]
    length: int


@lru_cache(maxsize=256)
def _find_layout(template: str) -> _Layout | None:
    """Returns the layout of a template of digits with separators; None for any other."""
    fields: list[tuple[str, int]] = []
    separators: list[int] = []
    at = 0
    for token in parse_template(template):
        if token.key:
            if token.key not in _WIDTHS or not token.fill or token.ordinal:
                return None
            fields.append((token.key, at))
            at += _WIDTHS[token.key]
        elif token.quoted or not fields or not (token.text == " " or _separates(token.text)):
            return None
        else:
            separators.append(at)
            at += 1
    keys = [key for key, _ in fields]
    if "YYYY" not in keys or len(set(keys)) < len(keys) or sum(key in _FRACTIONS for key in keys) > 1:
        return None
    if ("DDD" in keys and {"MM", "DD"} & set(keys)) or any(key in _FRACTIONS for key in keys[:-1]):
        return None
    return _Layout(tuple(fields), tuple(separators), at)


def _separates(character: str) -> bool:
    return "!" <= character <= "~" and not character.isalnum()


_SEPARATORS: Mask = np.array([chr(byte) == " " or _separates(chr(byte)) for byte in range(256)])


def read_fixed(texts: pa.StringArray, template: str) -> tuple[Integers, Integers, Mask] | None:
    """Returns the days, the microseconds of the day, and which texts were read; None if the template is of no such
    kind. No text may be NULL.
    """
    layout = _find_layout(template)
    if layout is None or not len(texts):
        return None
    characters, lengths = _get_characters(texts, layout.length + 1)
    digits = characters - ord("0")  # wraps around below the digits
    read = (lengths <= layout.length) | (digits[:, layout.length] > 9) & (characters[:, layout.length] < 128)
    for at in layout.separators:
        read &= _SEPARATORS[characters[:, at]] | (lengths <= at)
    values = {"MM": np.ones_like(lengths), "DD": np.ones_like(lengths)}
    microseconds = np.zeros_like(lengths)
    for key, start in layout.fields:
        width = _WIDTHS[key]
        value, found = _read_number(digits[:, start : start + width], np.clip(lengths - start, 0, width))
        complete = (lengths <= start) | (lengths >= start + width)
        if key in _FRACTIONS:  # the last field: fewer digits are its first ones
            complete = np.ones_like(complete)
        read &= found & complete
        if key in _MICROSECONDS:
            read &= value <= _MOST.get(key, 10**width)
            microseconds += value * _MICROSECONDS[key]
        else:
            read &= (value > 0) | (lengths <= start)
            values[key] = np.where(lengths <= start, 1, value)
    read &= lengths >= layout.fields[0][1] + 1
    year, month, day = values["YYYY"], values["MM"], values["DD"]
    read &= (month <= 12) & (lengths >= dict(layout.fields)["YYYY"] + _WIDTHS["YYYY"])
    read &= day <= days_in_month(year, np.where(read, month, 1))
    days = days_from_civil(year, month, day)
    if "DDD" in values:
        read &= values["DDD"] <= days_from_civil(year + 1, 1, 1) - days
        days = days + values["DDD"] - 1
    return days, microseconds, read


def _get_characters(texts: pa.StringArray, width: int) -> tuple[Bytes, Integers]:
    """Returns the first bytes of each text as a matrix, and the lengths in bytes; bytes beyond a text are any."""
    offsets = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset :][: len(texts) + 1].astype(np.int64)
    data = np.frombuffer(texts.buffers()[2] or b"\0", np.uint8)
    places = np.minimum(offsets[:-1, None] + np.arange(width), len(data) - 1)
    return data[places], np.diff(offsets)


def _read_number(digits: npt.NDArray[np.uint8], present: Integers) -> tuple[Integers, Mask]:
    """Returns numbers of which so many digits are present, zeros behind them, and whether all of those are digits."""
    width = digits.shape[1]
    value = np.zeros(len(digits), np.int64)
    found = np.ones(len(digits), np.bool_)
    for place in range(width):
        here = present > place
        digit = np.where(here, digits[:, place], 0)
        found &= digit <= 9
        value = value * 10 + digit
    return value, found
