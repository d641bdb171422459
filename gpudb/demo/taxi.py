"""Seeded, realistic New York taxi rides with the 51 columns of the 1.1 billion rides benchmark, as Arrow.

Row k of a seed is always the same row, whichever range is requested. Rides come as the city publishes them, in
blocks of one month each, so that dates cluster. Amounts follow the tariff of their day, places match their codes,
weather is one record per day, and what the real records lack (most of a ride hailed by app, coordinates that the
meter lost, fields that a vendor never filled) is null here too.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv

from gpudb.demo import columns
from gpudb.demo.calendar import CABS, DAY_BITS, HOUR_BITS, Calendar, make_calendar
from gpudb.demo.city import MILES_PER_DEGREE_EAST, MILES_PER_DEGREE_NORTH, City, make_city, make_pick_table

BLOCK = 16_384
"""Rows of a block: generated from one random stream, within one month."""

_TEXT, _SMALL, _FLOAT = pa.string(), pa.int16(), pa.float64()
_END = [
    ("nyct2010_gid", _SMALL), ("ctlabel", _TEXT), ("borocode", _SMALL), ("boroname", _TEXT),
    ("ct2010", _TEXT), ("boroct2010", _TEXT), ("cdeligibil", _TEXT), ("ntacode", _TEXT),
    ("ntaname", _TEXT), ("puma", _TEXT),
]  # fmt: skip
_MONEY = "fare_amount extra mta_tax tip_amount tolls_amount ehail_fee improvement_surcharge total_amount".split()
_WEATHER = "precipitation snow_depth snowfall max_temperature min_temperature average_wind_speed".split()

SCHEMA = pa.schema(
    [
        pa.field("trip_id", pa.int32()),
        pa.field("vendor_id", _TEXT),
        pa.field("pickup_datetime", pa.timestamp("us"), nullable=False),
        pa.field("dropoff_datetime", pa.timestamp("us"), nullable=False),
        pa.field("store_and_fwd_flag", _TEXT),
        pa.field("rate_code_id", _SMALL),
        *(pa.field(f"{end}_{axis}", _FLOAT) for end in ("pickup", "dropoff") for axis in ("longitude", "latitude")),
        pa.field("passenger_count", _SMALL),
        pa.field("trip_distance", columns.MONEY),
        *(pa.field(name, columns.MONEY) for name in _MONEY),
        pa.field("payment_type", _TEXT),
        pa.field("trip_type", _SMALL),
        pa.field("pickup", _TEXT),
        pa.field("dropoff", _TEXT),
        pa.field("cab_type", _TEXT, nullable=False),
        *(pa.field(name, _SMALL) for name in _WEATHER),
        *(pa.field(f"{end}_{name}", kind) for end in ("pickup", "dropoff") for name, kind in _END),
    ]
)
"""The table's 51 columns, in order."""

_YELLOW, _GREEN, _UBER = range(3)
_GOLDEN = 0.6180339887498949
_DAY_S = 86_400

# speeds (miles an hour) by hour of the day
_SPEED = np.array(
    [22, 23, 24, 25, 26, 27, 24, 18, 15, 14, 14, 14, 13, 13, 13, 13, 14, 13, 13, 15, 16, 17, 18, 20],
    np.float32,
)
_PASSENGERS = np.array([1, 2, 3, 4, 5, 6, 0, 7, 8, 9, 208], np.int16)
_PASSENGER_PICKS = make_pick_table(np.array([70.2, 14.1, 4.3, 2.1, 6.2, 2.9, 0.19, 0.004, 0.003, 0.003, 0.002]))
_TIP_PERCENT = np.array([0, 10, 15, 18, 20, 22, 25, 30], np.int32)
_TIP_PICKS = make_pick_table(np.array([4, 6, 10, 10, 42, 8, 14, 6], np.float64), 8)

_VENDORS = pa.array(["CMT", "VTS", "DDS", "1", "2"])
_FLAGS = pa.array(["N", "Y"])
# card, cash, no charge, dispute: in the spelling of their years' records
_PAYMENTS = pa.array(["Credit", "CASH", "No Charge", "Dispute", "CRD", "CSH", "NOC", "DIS", "1", "2", "3", "4"])
_CABS = pa.array(CABS)

Ints = npt.NDArray[np.int64]


def generate_rides(rows: int, seed: int, start: int = 0, batch_rows: int = BLOCK) -> Iterator[pa.RecordBatch]:
    """Yields rides number `start` to `start + rows` of `seed`, in batches of at most `batch_rows` rows.

    A batch never crosses the end of a block. Raises ValueError if a ride's number does not fit trip_id (an integer).
    """
    if rows < 0 or start < 0 or batch_rows < 1 or start + rows > 2**31 - 1:
        raise ValueError("rides are numbered from 0 to 2147483646")
    position, end = start, start + rows
    while position < end:
        block, offset = divmod(position, BLOCK)
        block_rides = _generate_block(seed, block).slice(offset, end - position)
        position += block_rides.num_rows
        for first in range(0, block_rides.num_rows, batch_rows):
            yield block_rides.slice(first, batch_rows)


def generate_csv(rows: int, seed: int, start: int = 0, header: bool = False) -> Iterator[bytes]:
    """Yields the same rides as CSV for COPY ... FROM STDIN (FORMAT csv); null is an empty field."""
    for number, batch in enumerate(generate_rides(rows, seed, start)):
        sink = io.BytesIO()
        options = pyarrow.csv.WriteOptions(include_header=header and number == 0, quoting_style="needed")
        pyarrow.csv.write_csv(batch, sink, options)
        yield sink.getvalue()


def _generate_block(seed: int, block: int) -> pa.RecordBatch:
    """Generates the rides of one block, all within one month."""
    rng = np.random.Generator(np.random.SFC64([seed, block]))
    calendar_, city_ = make_calendar(), make_city()
    # steps of the golden ratio spread any number of blocks evenly over the years
    turn = (seed % 1_000_003 * _GOLDEN + (block + 0.5) * _GOLDEN) % 1.0
    month = int(np.searchsorted(calendar_.share, turn, side="right"))
    arrays: dict[str, pa.Array] = {
        "trip_id": columns.make_numbers((np.arange(BLOCK) + block * BLOCK + 1).astype(np.int32))
    }
    cab = _draw_cabs(rng, calendar_, month)
    day, second, hour = _draw_times(rng, calendar_, month)
    ends = _draw_places(rng, city_, cab)
    distance = _compute_distances(rng, city_, ends)
    seconds = _compute_durations(rng, distance, hour)
    pickup_us = ((day + calendar_.epoch_day) * _DAY_S + second) * 1_000_000
    arrays["pickup_datetime"] = columns.make_timestamps(pickup_us)
    arrays["dropoff_datetime"] = columns.make_timestamps(pickup_us + seconds * 1_000_000)
    year = 2009 + month // 12
    _add_amounts(arrays, rng, city_, month, cab, ends, distance, seconds, hour, day + calendar_.epoch_day)
    _add_vendor(arrays, rng, year, cab)
    _add_places(arrays, rng, city_, ends)
    metered = cab != _UBER
    counted = _PASSENGERS[_PASSENGER_PICKS[_draw_bits(rng, 16)]]
    arrays["passenger_count"] = columns.make_numbers(counted, metered)
    arrays["cab_type"] = columns.make_choices(_CABS, cab)
    for name in _WEATHER:
        arrays[name] = columns.make_numbers(calendar_.weather[name][day])
    return pa.RecordBatch.from_arrays([arrays[name] for name in SCHEMA.names], schema=SCHEMA)


def _draw_bits(rng: np.random.Generator, bits: int) -> npt.NDArray[Any]:
    kind = np.uint8 if bits <= 8 else np.uint16
    return rng.integers(0, 1 << bits, BLOCK, dtype=kind)


def _draw_chance(rng: np.random.Generator, share: float) -> columns.Mask:
    hit: columns.Mask = _draw_bits(rng, 16) < round(share * 65536)
    return hit


def _draw_cabs(rng: np.random.Generator, calendar_: Calendar, month: int) -> npt.NDArray[np.int8]:
    draws = _draw_bits(rng, 16)
    green_from, uber_from = calendar_.cabs[month]
    if green_from == 65535:
        return np.zeros(BLOCK, np.int8)
    over = draws >= green_from
    cab: npt.NDArray[np.int8] = over.astype(np.int8) + ((draws >= uber_from) & (uber_from < 65535)).astype(np.int8)
    return cab


def _draw_times(rng: np.random.Generator, calendar_: Calendar, month: int) -> tuple[Ints, Ints, npt.NDArray[np.int16]]:
    day = calendar_.days[month][_draw_bits(rng, DAY_BITS)].astype(np.int64) + calendar_.month_start[month]
    weekend = ((day + calendar_.epoch_day + 3) % 7 >= 5).astype(np.int8)
    hour = calendar_.hours[weekend, _draw_bits(rng, HOUR_BITS)]
    second = hour.astype(np.int64) * 3600 + rng.integers(0, 3600, BLOCK, dtype=np.uint16)
    return day, second, hour


def _draw_places(rng: np.random.Generator, city_: City, cab: npt.NDArray[np.int8]) -> tuple[Ints, Ints]:
    draws = _draw_bits(rng, 16)
    first = city_.pickups["yellow"][draws]
    for kind, name in ((_GREEN, "green"), (_UBER, "uber")):
        matching = np.flatnonzero(cab == kind)
        if len(matching):
            first[matching] = city_.pickups[name][draws[matching]]
    draws = _draw_bits(rng, 8).astype(np.int16)
    nearby = city_.near[first, draws * draws >> 8]  # squared: nearer tracts are likelier
    last = np.where(_draw_chance(rng, 0.7), nearby, city_.dropoffs[_draw_bits(rng, 16)])
    return first.astype(np.int64), last.astype(np.int64)


def _compute_distances(rng: np.random.Generator, city_: City, ends: tuple[Ints, Ints]) -> Ints:
    """Returns hundredths of a mile along streets; for some rides the meter was never set."""
    first, last = ends
    east = ((city_.longitude[first] - city_.longitude[last]) * MILES_PER_DEGREE_EAST).astype(np.float32)
    north = ((city_.latitude[first] - city_.latitude[last]) * MILES_PER_DEGREE_NORTH).astype(np.float32)
    straight = np.sqrt(east * east + north * north)
    detour = 1.15 + 0.3 * rng.random(BLOCK, dtype=np.float32)
    miles = straight * detour + 0.1 + 0.3 * rng.random(BLOCK, dtype=np.float32)
    hundredths: Ints = (miles * 100).astype(np.int64)
    hundredths[_draw_chance(rng, 0.006)] = 0
    return hundredths


def _compute_durations(rng: np.random.Generator, distance: Ints, hour: npt.NDArray[np.int16]) -> Ints:
    """Returns seconds, by the hour's traffic; every tenth ride is slower."""
    pace = 3600 / 100 / _SPEED
    seconds = distance.astype(np.float32) * pace[hour] * (0.7 + 0.6 * rng.random(BLOCK, dtype=np.float32))
    slow = np.where(_draw_chance(rng, 0.1), np.float32(1.6), np.float32(1.0))
    rounded: Ints = (seconds * slow).astype(np.int64) + 60 + _draw_bits(rng, 7)
    return rounded


def _add_amounts(
    arrays: dict[str, pa.Array],
    rng: np.random.Generator,
    city_: City,
    month: int,
    cab: npt.NDArray[np.int8],
    ends: tuple[Ints, Ints],
    distance: Ints,
    seconds: Ints,
    hour: npt.NDArray[np.int16],
    epoch_day: Ints,
) -> None:
    """Returns fare, surcharges, tip, tolls and total, by the tariff of the month; nulls for rides hailed by app."""
    metered = cab != _UBER
    year, late = 2009 + month // 12, month >= 44  # the tariff rose in September 2012
    unit, flat = (50, 5200) if late else (40, 4500)
    fare = 250 + unit * ((distance * 5 + seconds // 3 * 2) // 100)  # fifths of a mile, and waiting
    airport = city_.airport[ends[0]] + city_.airport[ends[1]]
    manhattan = (city_.borough[ends[0]] == 1) | (city_.borough[ends[1]] == 1)
    flat_rate = (airport == 2) & manhattan
    fare = np.where(flat_rate, flat, fare)
    negotiated = _draw_chance(rng, 0.002)
    fare = np.where(negotiated, 1500 + 100 * (_draw_bits(rng, 6).astype(np.int64)), fare)
    weekday = (epoch_day + 3) % 7 < 5
    night = (hour >= 20) | (hour < 6)
    rush = weekday & (hour >= 16) & (hour < 20)
    extra = np.where(night, 50, np.where(rush, 100, 0))
    extra[flat_rate] = 0
    tax = np.full(BLOCK, 50 if month >= 10 else 0, np.int64)  # since November 2009
    surcharge = np.full(BLOCK, 30 if year >= 2015 else 0, np.int64)
    crossed = (airport > 0) & _draw_chance(rng, 0.55)
    tolls = np.where(crossed, 554 if year >= 2015 else 533 if year >= 2013 else 480 if late else 457, 0)
    payment = _draw_payments(rng, year)
    percent = _TIP_PERCENT[_TIP_PICKS[_draw_bits(rng, 8)]]
    tip = np.where(payment == 0, (fare + extra) * percent // 100, 0)
    voided = (payment >= 2) & _draw_chance(rng, 0.2)  # a charge taken back
    sign = np.where(voided & (year >= 2014), -1, 1)
    fare, extra, tax = fare * sign, extra * sign, tax * sign
    total = fare + extra + tax + tip + tolls + surcharge
    amounts = {
        "fare_amount": fare,
        "extra": extra,
        "tip_amount": tip,
        "tolls_amount": tolls,
        "total_amount": total,
    }
    for name, cents in amounts.items():
        arrays[name] = columns.make_decimals(cents, metered)
    arrays["mta_tax"] = columns.make_decimals(tax, metered) if month >= 10 else columns.make_nulls(columns.MONEY, BLOCK)
    arrays["improvement_surcharge"] = (
        columns.make_decimals(surcharge, metered) if year >= 2015 else columns.make_nulls(columns.MONEY, BLOCK)
    )
    arrays["ehail_fee"] = columns.make_nulls(columns.MONEY, BLOCK)
    arrays["trip_distance"] = columns.make_decimals(distance, metered)
    rate = np.where(flat_rate, 2, np.where(negotiated, 5, 1)).astype(np.int16)
    arrays["rate_code_id"] = columns.make_numbers(rate, metered)
    spelling = 0 if year == 2009 else 4 if year < 2015 else 8
    spelling_index = np.where(cab == _GREEN, 8, spelling) + payment
    arrays["payment_type"] = columns.make_choices(_PAYMENTS, spelling_index, metered)
    street = np.where(negotiated, 2, 1).astype(np.int16)
    arrays["trip_type"] = columns.make_numbers(street, (cab == _GREEN) & ~_draw_chance(rng, 0.02))


def _draw_payments(rng: np.random.Generator, year: int) -> npt.NDArray[np.int64]:
    """Returns 0 card, 1 cash, 2 no charge, 3 dispute; the share of cards grows from a quarter to two thirds."""
    draws = _draw_bits(rng, 16).astype(np.int64)
    card = round(65536 * (0.26 + 0.058 * (year - 2009)))
    payment: Ints = (draws >= card).astype(np.int64) + (draws >= 65536 - 400) + (draws >= 65536 - 90)
    return payment


def _add_vendor(arrays: dict[str, pa.Array], rng: np.random.Generator, year: int, cab: npt.NDArray[np.int8]) -> None:
    metered = cab != _UBER
    draws = _draw_bits(rng, 16)
    is_second = (draws >= 31_000).astype(np.int64)
    vendor_index = is_second + (draws >= 63_500) if year < 2015 else is_second + 3
    vendor = np.where(cab == _GREEN, is_second + 3, vendor_index)
    arrays["vendor_id"] = columns.make_choices(_VENDORS, vendor, metered)
    flag = _draw_chance(rng, 0.012).astype(np.int8)
    # before 2011 only one vendor filled the flag
    arrays["store_and_fwd_flag"] = columns.make_choices(_FLAGS, flag, metered & ((vendor != 1) | (year >= 2011)))


def _add_places(arrays: dict[str, pa.Array], rng: np.random.Generator, city_: City, ends: tuple[Ints, Ints]) -> None:
    """Returns coordinates and everything derived from them; a lost fix is 0, 0 with no tract, a missing one null."""
    lost, missing = _draw_chance(rng, 0.014), _draw_chance(rng, 0.0008)
    located = ~(lost | missing)
    for end, tract in zip(("pickup", "dropoff"), ends):
        offset = (rng.random((2, BLOCK), dtype=np.float32) - 0.5) * np.float32(0.0042)
        longitude = np.round((city_.longitude[tract] + offset[0]) * 1e6) / 1e6
        latitude = np.round((city_.latitude[tract] + offset[1]) * 1e6) / 1e6
        longitude[lost] = latitude[lost] = 0.0
        arrays[f"{end}_longitude"] = columns.make_numbers(longitude, ~missing)
        arrays[f"{end}_latitude"] = columns.make_numbers(latitude, ~missing)
        arrays[end] = columns.make_points(longitude, latitude, located)
        arrays[f"{end}_nyct2010_gid"] = columns.make_numbers(city_.gid[tract], located)
        arrays[f"{end}_borocode"] = columns.make_numbers(city_.borough[tract], located)
        index = columns.make_numbers(tract, located)
        for name, dictionary in city_.names.items():
            arrays[f"{end}_{name}"] = dictionary.take(index)
