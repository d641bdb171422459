"""A data scientist in a notebook: files as tables, magics, relations, frames in and out, charts, plans."""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.support.notebook import Kernel, running_kernel
from tests.users.public_files import write_passengers, write_taxi

pytest.importorskip("vl_convert")


@pytest.fixture
def kernel() -> Iterator[Kernel]:
    """A notebook with the magics."""
    with running_kernel() as running:
        running.run("import gpudb, polars as pl, pandas as pd\n%load_ext gpudb")
        yield running


def value(kernel: Kernel, expression: str) -> Any:
    """The value of an expression in the notebook."""
    return literal_eval(kernel.run(expression).data("text/plain"))


def test_taxi_rides_from_parquet_to_charts(kernel: Kernel, tmp_path: Path) -> None:
    rides = write_taxi(tmp_path)
    kernel.run(f"db = gpudb.connect({str(tmp_path / 'data')!r})\n%gpudb db\nfolder = {str(tmp_path)!r}")
    # The months are one table, whose names are in mixed case
    made = kernel.run(f"%sql CREATE TABLE rides AS SELECT * FROM '{tmp_path}/yellow_tripdata_*.parquet'")
    assert made.data("text/plain") == f"SELECT {len(rides)}"
    failed = kernel.run("%sql SELECT avg(tip_amount) FROM rides WHERE PULocationID = 1", fails=True).error
    assert 'write "PULocationID" in double quotes' in failed.evalue
    # A frame of pandas beside it, a variable in the statement
    kernel.run("zones = pd.read_csv(folder + '/taxi_zone_lookup.csv')\nleast = 0.5")
    kernel.run(
        """%%sql by_borough <<
SELECT "Borough" AS borough, count(*) AS rides, sum(tip_amount)::float8 AS tips, avg(trip_distance) AS miles
FROM rides JOIN zones ON "PULocationID" = "LocationID"
WHERE trip_distance > :least
GROUP BY ALL ORDER BY borough"""
    )
    zones = pd.read_csv(tmp_path / "taxi_zone_lookup.csv")
    joined = rides[rides.trip_distance > 0.5].merge(zones, left_on="PULocationID", right_on="LocationID")
    expected = joined.groupby("Borough").agg(n=("fare_amount", "size"), tips=("tip_amount", "sum"))
    assert value(kernel, "dict(by_borough.select('borough', 'rides').fetchall())") == expected.n.to_dict()
    tips = value(kernel, "by_borough.polars()['tips'].to_list()")
    assert tips == pytest.approx(expected.tips.tolist())
    # A lazy relation, its frames, and a column computed in pandas that comes back
    kernel.run("long = db.table('rides').filter('trip_distance > 5')")
    assert value(kernel, "len(long)") == int((rides.trip_distance > 5).sum())
    kernel.run(
        "frame = long.select('fare_amount', 'trip_distance').pandas()\n"
        "frame['per_mile'] = frame.fare_amount / frame.trip_distance"
    )
    per_mile = rides[rides.trip_distance > 5].eval("fare_amount / trip_distance")
    assert value(kernel, "db.sql('SELECT avg(per_mile) FROM frame').fetchone()[0]") == pytest.approx(per_mile.mean())
    assert value(kernel, "long.pandas()['passenger_count'].isna().sum().item()") == int(
        rides[rides.trip_distance > 5].passenger_count.isna().sum()
    )
    # Charts: the picture is in the notebook, the database has counted
    shown = kernel.run("db.table('rides').plot.hist('trip_distance', bins=20)")
    assert shown.data("image/svg+xml").startswith("<svg")
    kernel.run(
        "chart = db.table('rides').plot.bar(x='payment_type:N', y='mean(tip_amount)').to_dict()\n"
        "(drawn,) = chart['datasets'].values()"
    )
    drawn = value(kernel, "sorted([*map(float, row.values())] for row in drawn)")
    by_type = rides.groupby("payment_type").tip_amount.mean()
    assert [each[1] for each in drawn] == pytest.approx(by_type.tolist())
    # The plan as a picture
    assert "Table: rides" in kernel.run("%explain SELECT count(*) FROM rides WHERE fare_amount > 20").data(
        "image/svg+xml"
    )
    # What was made is there tomorrow
    kernel.run("db.execute('CREATE TABLE boroughs AS SELECT * FROM by_borough')\ndb.close()")
    kernel.run(f"db = gpudb.connect({str(tmp_path / 'data')!r})")
    assert value(kernel, "db.sql('SELECT count(*) FROM boroughs').fetchone()") == (5,)
    kernel.run("db.close()")


def test_passengers_of_a_csv_file(kernel: Kernel, tmp_path: Path) -> None:
    passengers = write_passengers(tmp_path)
    kernel.run(f"db = gpudb.connect()\n%gpudb db\ntitanic = pl.read_csv({str(tmp_path / 'titanic.csv')!r})")
    kernel.run(
        """%%sql rates <<
SELECT "Sex", "Pclass", count(*) AS n, round(avg("Survived"), 4)::float8 AS rate
FROM titanic GROUP BY ALL ORDER BY ALL"""
    )
    expected = passengers.groupby(["Sex", "Pclass"]).Survived.agg(["size", "mean"]).reset_index()
    assert value(kernel, "rates.fetchall()") == [
        (sex, int(pclass), int(n), round(float(rate), 4))
        for sex, pclass, n, rate in expected.itertuples(index=False, name=None)
    ]
    described = kernel.run("db.table('titanic').describe()").data("text/html")
    assert "Age" in described
    assert value(kernel, "dict(db.table('titanic').describe()[['column', 'nulls']].fetchall())['Age']") == int(
        passengers.Age.isna().sum()
    )
    kernel.run('%%sql wide <<\nPIVOT titanic ON "Embarked" USING count(*) GROUP BY "Pclass" ORDER BY "Pclass"')
    pivoted = passengers.groupby(["Pclass", "Embarked"]).size().unstack(fill_value=0)
    assert value(kernel, "wide.columns") == ("Pclass", *pivoted.columns)
    assert value(kernel, "wide.fetchall()") == [(k, *map(int, row)) for k, row in zip(pivoted.index, pivoted.values)]
    assert value(kernel, """db.sql("SELECT count(*) FROM titanic WHERE \\"Name\\" LIKE '%Mrs.%'").fetchone()""") == (
        int(passengers.Name.str.contains("Mrs.", regex=False).sum()),
    )
    kernel.run("db.close()")
