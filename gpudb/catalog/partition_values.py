"""Values of partitions' bounds, in the form in which values of rows compare with them.

Integers are int, dates days and times microseconds as in `DataFile`'s statistics, numerics Decimal, texts and uuids
str, booleans bool.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from gpudb.catalog.partitions import Datum
from gpudb.types import SqlType
from gpudb.types.facts import INTEGERS
from gpudb.values.calendar import days_from_date, microseconds_from_timestamp
from gpudb.values.wide_numerics import normalize

DAYS = frozenset({"date"})
TIMES = frozenset({"timestamp", "timestamptz"})
TEXTS = frozenset({"text", "varchar"})
KEY_TYPES = INTEGERS | DAYS | TIMES | TEXTS | {"numeric", "bool", "uuid"}
"""The types of columns by which tables can be partitioned."""
HASHED_TYPES = KEY_TYPES - {"numeric"}
"""Those that HASH takes."""

Limit = tuple[int, Any]
"""A limit of a range that compares with others: (-1, 0) is MINVALUE, (0, value) a value, (1, 0) MAXVALUE."""


def read_value(type: SqlType, text: str) -> Any:
    """Returns the value of a bound's text."""
    if type.name in INTEGERS:
        return int(text)
    if text.endswith(" BC"):
        date, _, time = text.removesuffix(" BC").partition(" ")
        text = f"{date} (BC) {time}".rstrip()
    if type.name in DAYS:
        return days_from_date(text)
    if type.name in TIMES:
        return microseconds_from_timestamp(text)
    if type.name == "numeric":
        return normalize(Decimal(text))
    return text == "t" if type.name == "bool" else text


def read_limit(type: SqlType, datum: Datum) -> Limit:
    """Returns one limit of a range."""
    if datum.infinite or datum.text is None:
        return datum.infinite, 0
    return 0, read_value(type, datum.text)
