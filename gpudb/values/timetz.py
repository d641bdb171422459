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
from gpudb.values.datetime_columns import format_time_column
from gpudb.values.datetime_parser import decode_datetime
from gpudb.values.datetimes import round_microseconds

SHIFT, MIDDLE = 17, 1 << 16
_MASK = (1 << SHIFT) - 1
_LIMIT = 16 * 3600
MAX_OFFSET = 18 * 3600
MAX_OFFSET_ERROR = "times in zones 18 hours or more from Greenwich are not supported"
_SECOND = 1_000_000

Value = dt.time | str


def pack_timetz(microseconds: int, west: int) -> int:
    """Encodes a time of day and a zone in seconds west as the integer; 0A000 if it does not fit."""
    if abs(west) >= MAX_OFFSET:
        raise FeatureNotSupported(MAX_OFFSET_ERROR)
    return ((microseconds + west * _SECOND) << SHIFT) + west + MIDDLE


def unpack_timetz(key: int) -> tuple[int, int]:
    """Decodes the integer to microseconds since midnight and seconds west."""
    west = (key & _MASK) - MIDDLE
    return (key >> SHIFT) - west * _SECOND, west


def timetz_from_key(key: int) -> Value:
    """Returns the integer as an aware time, or as text at 24:00."""
    microseconds, west = unpack_timetz(key)
    time = calendar.time_from_microseconds(microseconds)
    return format_timetz(key) if isinstance(time, str) else time.replace(tzinfo=zones.fixed_offset_zone(-west))


def timetz_to_key(value: Value) -> int:
    """The inverse of `timetz_from_key`."""
    if isinstance(value, str):
        seconds = zones.parse_offset(value[8:])
        return pack_timetz(calendar.DAY, -(seconds or 0))
    offset = value.utcoffset() or dt.timedelta()
    return pack_timetz(calendar.microseconds_from_time(value.replace(tzinfo=None)), -round(offset.total_seconds()))


def format_timetz(key: int) -> str:
    """Formats the integer as PostgreSQL does: `04:05:06.5+05:30`."""
    microseconds, west = unpack_timetz(key)
    return calendar.format_time(microseconds) + calendar.format_offset(-west)


def parse_timetz(type_: SqlType, text: str, zone: zones.Zone, now: dt.datetime | None = None) -> Value:
    """Parses a time of day with a zone; the default is the session's zone on the given date or today. 22007, 22008."""
    fields = decode_datetime(text, "time with time zone", time_only=True)
    utc = calendar.microseconds_from_timestamp(now or dt.datetime.now(dt.UTC))
    local = utc + zones.get_offset(zone, utc) * _SECOND
    malformed = SqlError.of("invalid_datetime_format", f'invalid input syntax for type time with time zone: "{text}"')
    if fields.special == "now":
        return timetz_from_key(
            pack_timetz(round_microseconds(local % calendar.DAY, type_.modifier), -zones.get_offset(zone, utc))
        )
    if fields.special == "allballs":
        return timetz_from_key(pack_timetz(0, 0))
    if fields.special is not None or fields.time is None:
        raise malformed
    if fields.zone is not None and not isinstance(fields.zone, dt.timezone) and fields.days is None:
        raise malformed  # a zone's offset depends on the date
    days = local // calendar.DAY if fields.days is None else fields.days
    offset = zones.get_local_offset(fields.zone or zone, days * calendar.DAY + fields.time)
    return timetz_from_key(pack_timetz(round_microseconds(fields.time, type_.modifier), -offset))


def parse_timetz_binary(_: SqlType, data: bytes) -> Value:
    """Reads timetz_recv's form: microseconds since midnight, seconds west. 22008, 22009."""
    microseconds, west = struct.unpack("!qi", data)
    if not 0 <= microseconds <= calendar.DAY:
        raise SqlError.of("datetime_field_overflow", "time out of range")
    if not -_LIMIT < west < _LIMIT:
        raise SqlError.of("invalid_time_zone_displacement_value", "time zone displacement out of range")
    return timetz_from_key(pack_timetz(microseconds, west))


# ---- columns

Numbers = npt.NDArray[np.int64]


def unpack_timetz_column(column: pa.Array) -> tuple[Numbers, Numbers]:
    """Decodes a column to microseconds since midnight and seconds west, with arbitrary values for NULLs."""
    keys = pc.fill_null(column, pack_timetz(0, 0)).to_numpy(zero_copy_only=False)
    west = (keys & _MASK) - MIDDLE
    return (keys >> SHIFT) - west * _SECOND, west


def format_timetz_column(column: pa.Array) -> pa.StringArray:
    """Formats a column as PostgreSQL does."""
    microseconds, west = unpack_timetz_column(column)
    times = format_time_column(pa.array(microseconds).view(pa.time64("us")))
    offsets, indices = np.unique(west, return_inverse=True)
    offset_texts = pa.array([calendar.format_offset(-int(offset)) for offset in offsets], pa.string())
    formatted = pc.binary_join_element_wise(times, offset_texts.take(pa.array(indices)), "")
    return pc.if_else(column.is_null(), None, formatted) if column.null_count else formatted


def encode_timetz_column(column: pa.Array) -> npt.NDArray[np.void]:
    """Encodes a column in PostgreSQL's binary form, with arbitrary values for NULLs."""
    encoded = np.empty(len(column), [("microseconds", ">i8"), ("west", ">i4")])
    encoded["microseconds"], encoded["west"] = unpack_timetz_column(column)
    return encoded
