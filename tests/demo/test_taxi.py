"""Taxi rides: independent of the range that is generated, and realistic in the columns that queries use."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pytest

from gpudb.demo import taxi
from gpudb.demo.calendar import make_calendar


def _table(rows: int, seed: int = 7, start: int = 0, batch_rows: int = taxi.BLOCK) -> pa.Table:
    return pa.Table.from_batches(taxi.generate_rides(rows, seed, start, batch_rows), schema=taxi.SCHEMA)


@pytest.fixture(scope="module")
def rides() -> pa.Table:
    return _table(60 * taxi.BLOCK)


def test_schema_has_the_51_columns() -> None:
    assert len(taxi.SCHEMA) == 51
    assert taxi.SCHEMA.field("trip_distance").type == pa.decimal128(10, 2)
    assert [field.name for field in taxi.SCHEMA if not field.nullable] == [
        "pickup_datetime",
        "dropoff_datetime",
        "cab_type",
    ]


def test_batch_size_changes_nothing() -> None:
    whole = _table(40_000)
    assert _table(40_000, batch_rows=777).equals(whole)
    assert all(batch.num_rows <= 777 for batch in taxi.generate_rides(40_000, 7, batch_rows=777))


def test_start_continues_the_same_rows() -> None:
    whole = _table(40_000)
    parts = pa.concat_tables([_table(12_345), _table(40_000 - 12_345, start=12_345)])
    assert parts.equals(whole)
    assert whole["trip_id"].to_pylist() == list(range(1, 40_001))


def test_another_seed_gives_other_rows() -> None:
    assert not _table(1000, seed=8).equals(_table(1000, seed=7))


def test_the_last_ride_fits_its_number() -> None:
    assert _table(3, start=2**31 - 4)["trip_id"].to_pylist() == [2**31 - 3, 2**31 - 2, 2**31 - 1]
    with pytest.raises(ValueError, match="numbered"):
        next(taxi.generate_rides(2, 7, start=2**31 - 2))


def test_no_rides() -> None:
    assert list(taxi.generate_rides(0, 7)) == []


def test_cabs_and_years(rides: pa.Table) -> None:
    counts = dict(
        zip(*(column.to_pylist() for column in rides.group_by("cab_type").aggregate([([], "count_all")]).columns))
    )
    assert counts["yellow"] > 20 * counts["green"] > 20 * counts["uber"] / 3 > 0
    years = pc.year(rides["pickup_datetime"]).unique().to_pylist()
    assert sorted(years) == list(range(2009, 2017))
    green = rides.filter(pc.equal(rides["cab_type"], "green"))
    assert pc.min(green["pickup_datetime"]).as_py().isoformat() >= "2013-08-01"


def test_rides_end_after_they_begin_and_cost_more_when_longer(rides: pa.Table) -> None:
    assert pc.all(pc.greater(rides["dropoff_datetime"], rides["pickup_datetime"])).as_py()
    metered = rides.filter(pc.equal(rides["cab_type"], "yellow"))
    distance = metered["trip_distance"].cast(pa.float64()).to_numpy()
    fare = pc.abs(metered["fare_amount"]).cast(pa.float64()).to_numpy()
    assert np.corrcoef(distance, fare)[0, 1] > 0.85
    assert 2.5 < distance.mean() < 4


def test_total_is_the_sum_of_its_parts(rides: pa.Table) -> None:
    parts = ["fare_amount", "extra", "mta_tax", "tip_amount", "tolls_amount", "improvement_surcharge"]
    total = sum(pc.fill_null(rides[name].cast(pa.float64()), 0).to_numpy() for name in parts)
    paid = pc.fill_null(rides["total_amount"].cast(pa.float64()), 0).to_numpy()
    assert np.abs(total - paid).max() < 1e-6


@pytest.mark.parametrize("end", ["pickup", "dropoff"])
def test_codes_agree(rides: pa.Table, end: str) -> None:
    names = [
        "nyct2010_gid",
        "ctlabel",
        "borocode",
        "boroname",
        "ct2010",
        "boroct2010",
        "ntacode",
        "ntaname",
        "puma",
    ]
    found = (
        rides.select([f"{end}_{name}" for name in names])
        .rename_columns(names)
        .filter(pc.is_valid(rides[f"{end}_nyct2010_gid"]))
    )
    tracts = found.group_by(names).aggregate([])
    assert tracts["nyct2010_gid"].null_count == 0
    assert len(tracts) == len(tracts["boroct2010"].unique()) == len(tracts["nyct2010_gid"].unique()) > 1500
    assert len(tracts.group_by(["borocode", "boroname"]).aggregate([])) == 5
    codes = tracts.group_by(["ntacode", "ntaname", "borocode"]).aggregate([])
    assert len(codes) == len(codes["ntacode"].unique())
    joined = pc.binary_join_element_wise(tracts["borocode"].cast(pa.string()), tracts["ct2010"], "")
    assert joined.equals(tracts["boroct2010"])


def test_text_fits_its_columns(rides: pa.Table) -> None:
    limits = {"vendor_id": 3, "payment_type": 10, "pickup": 50, "dropoff": 50, "cab_type": 6}
    ends = {
        "ctlabel": 10,
        "boroname": 13,
        "ct2010": 6,
        "boroct2010": 7,
        "cdeligibil": 1,
        "ntacode": 4,
        "ntaname": 56,
        "puma": 4,
    }
    limits |= {f"{end}_{name}": limit for end in ("pickup", "dropoff") for name, limit in ends.items()}
    for name, limit in limits.items():
        assert pc.max(pc.utf8_length(rides[name])).as_py() <= limit, name


def test_weather_is_one_per_day(rides: pa.Table) -> None:
    days = pc.floor_temporal(rides["pickup_datetime"], unit="day")
    names = list(make_calendar().weather)
    groups = (
        rides.select(names)
        .append_column("day", days)
        .group_by("day")
        .aggregate([(name, "count_distinct") for name in names])
    )
    for name in names:
        assert pc.max(groups[f"{name}_count_distinct"]).as_py() == 1, name
    assert pc.max(rides["snow_depth"]).as_py() > 0 > pc.min(rides["min_temperature"]).as_py()


def test_what_the_records_lack_is_null(rides: pa.Table) -> None:
    uber = rides.filter(pc.equal(rides["cab_type"], "uber"))
    for name in ("passenger_count", "trip_distance", "total_amount", "vendor_id", "payment_type"):
        assert uber[name].null_count == len(uber) > 0
    assert 0 < rides["pickup_ntaname"].null_count < 0.03 * len(rides)
    assert rides["ehail_fee"].null_count == len(rides)


def test_csv_holds_the_same_rows() -> None:
    text = b"".join(taxi.generate_csv(2000, 7, header=True))
    options = pyarrow.csv.ConvertOptions(column_types=taxi.SCHEMA, strings_can_be_null=True)
    read = pyarrow.csv.read_csv(pa.BufferReader(text), convert_options=options)
    assert read.cast(taxi.SCHEMA).equals(_table(2000))
