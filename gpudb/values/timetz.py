"""time with time zone: one integer in PostgreSQL's order of the type, and its other forms.

The integer is the time of day in UTC (microseconds, which may be before or after the day) times 2^17, plus the zone
in seconds west of Greenwich and 2^16. The Python value is an aware `datetime.time`, or text at 24:00.
"""

from __future__ import annotations

import datetime as dt
import struct

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.types import SqlType
from gpudb.values import calendar, zones
from gpudb.values.datetime_columns import time_column
from gpudb.values.datetime_parser import decode
from gpudb.values.datetimes import rounded

SHIFT, MIDDLE = 17, 1 << 16
_MASK = (1 << SHIFT) - 1
_LIMIT = 16 * 3600
FARTHEST = 18 * 3600
TOO_FAR = "times in zones 18 hours or more from Greenwich are not supported"
_SECOND = 1_000_000

Value = dt.time | str


def packed(microseconds: int, west: int) -> int:
    """Encodes a time of day and a zone in seconds west as the integer; 0A000 if it does not fit."""
    if abs(west) >= FARTHEST:
        raise FeatureNotSupported(TOO_FAR)
    return ((microseconds + west * _SECOND) << SHIFT) + west + MIDDLE


def unpacked(key: int) -> tuple[int, int]:
    """Decodes the integer to microseconds since midnight and seconds west."""
    west = (key & _MASK) - MIDDLE
    return (key >> SHIFT) - west * _SECOND, west


def timetz_value(key: int) -> Value:
    """Returns the integer as an aware time, or as text at 24:00."""
    microseconds, west = unpacked(key)
    time = calendar.time_value(microseconds)
    return timetz_text(key) if isinstance(time, str) else time.replace(tzinfo=zones.fixed(-west))


def timetz_key(value: Value) -> int:
    """The inverse of `timetz_value`."""
    if isinstance(value, str):
        seconds = zones.parse_offset(value[8:])
        return packed(calendar.DAY, -(seconds or 0))
    offset = value.utcoffset() or dt.timedelta()
    return packed(calendar.time_of(value.replace(tzinfo=None)), -round(offset.total_seconds()))


def timetz_text(key: int) -> str:
    """Formats the integer as PostgreSQL does: `04:05:06.5+05:30`."""
    microseconds, west = unpacked(key)
    return calendar.time_text(microseconds) + calendar.offset_text(-west)


def parse_timetz(type_: SqlType, text: str, zone: zones.Zone, now: dt.datetime | None = None) -> Value:
    """Parses a time of day with a zone; the default is the session's zone on the given date or today. 22007, 22008."""
    fields = decode(text, "time with time zone", time_only=True)
    utc = calendar.microseconds_of(now or dt.datetime.now(dt.UTC))
    local = utc + zones.offset_at(zone, utc) * _SECOND
    malformed = SqlError.of("invalid_datetime_format", f'invalid input syntax for type time with time zone: "{text}"')
    if fields.special == "now":
        return timetz_value(packed(rounded(local % calendar.DAY, type_.modifier), -zones.offset_at(zone, utc)))
    if fields.special == "allballs":
        return timetz_value(packed(0, 0))
    if fields.special is not None or fields.time is None:
        raise malformed
    if fields.zone is not None and not isinstance(fields.zone, dt.timezone) and fields.days is None:
        raise malformed  # a zone's offset depends on the date
    days = local // calendar.DAY if fields.days is None else fields.days
    offset = zones.offset_of_local(fields.zone or zone, days * calendar.DAY + fields.time)
    return timetz_value(packed(rounded(fields.time, type_.modifier), -offset))


def parse_timetz_binary(_: SqlType, data: bytes) -> Value:
    """Reads timetz_recv's form: microseconds since midnight, seconds west. 22008, 22009."""
    microseconds, west = struct.unpack("!qi", data)
    if not 0 <= microseconds <= calendar.DAY:
        raise SqlError.of("datetime_field_overflow", "time out of range")
    if not -_LIMIT < west < _LIMIT:
        raise SqlError.of("invalid_time_zone_displacement_value", "time zone displacement out of range")
    return timetz_value(packed(microseconds, west))


# ---- columns

Numbers = npt.NDArray[np.int64]


def unpacked_column(column: pa.Array) -> tuple[Numbers, Numbers]:
    """Decodes a column to microseconds since midnight and seconds west, with arbitrary values for NULLs."""
    keys = pc.fill_null(column, packed(0, 0)).to_numpy(zero_copy_only=False)
    west = (keys & _MASK) - MIDDLE
    return (keys >> SHIFT) - west * _SECOND, west


def timetz_texts(column: pa.Array) -> pa.StringArray:
    """Formats a column as PostgreSQL does."""
    microseconds, west = unpacked_column(column)
    times = time_column(pa.array(microseconds).view(pa.time64("us")))
    offsets, places = np.unique(west, return_inverse=True)
    shown = pa.array([calendar.offset_text(-int(each)) for each in offsets], pa.string())
    made = pc.binary_join_element_wise(times, shown.take(pa.array(places)), "")
    return pc.if_else(column.is_null(), None, made) if column.null_count else made


def timetz_binary(column: pa.Array) -> npt.NDArray[np.void]:
    """Encodes a column in PostgreSQL's binary form, with arbitrary values for NULLs."""
    sent = np.empty(len(column), [("microseconds", ">i8"), ("west", ">i4")])
    sent["microseconds"], sent["west"] = unpacked_column(column)
    return sent
