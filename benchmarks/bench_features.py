"""Features of flights, fitted and transformed by gpudb, scikit-learn and Polars in turn, and their values compared.

`python -m benchmarks.bench_features [--rows N] [--rounds N] [--save]` prints medians of 12 encoders over a table in the
manner of nycflights13 (336,776 rows): numbers imputed, standardized, scaled, in bins and as logarithms; indicators,
ordinals, counts, a target encoding; the parts of a timestamp.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from sklearn import preprocessing
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

import gpudb
from benchmarks.harness import Row, save_results
from gpudb import ml

ROWS = 336_776
NUMBERS = ["dep_delay", "distance"]
SMOOTH = 10.0


def make_flights(rows: int) -> pd.DataFrame:
    """Returns flights, the same for a number of rows."""
    random = np.random.default_rng(13)
    delay = random.exponential(30, rows).round() - 12
    return pd.DataFrame(
        {
            "id": np.arange(rows),
            "dep_delay": np.where(random.random(rows) < 0.025, np.nan, delay),
            "distance": random.integers(80, 4984, rows).astype(float),
            "air_time": random.normal(150, 90, rows).round(),
            "hour": random.integers(5, 24, rows),
            "month": random.integers(1, 13, rows),
            "speed": random.exponential(400, rows),
            "carrier": random.choice([*(f"{letter}A" for letter in "ABCDEFGHIJKLMNO"), "9E"], rows),
            "origin": random.choice(["EWR", "JFK", "LGA"], rows),
            "dest": random.choice([f"D{number:02}" for number in range(105)], rows),
            "tailnum": random.choice([f"N{number:04}" for number in range(4043)], rows),
            "plane": random.choice([f"P{number:03}" for number in range(127)], rows),
            "time_hour": pd.Timestamp("2013-01-01") + pd.to_timedelta(random.integers(0, 8760, rows), unit="h"),
            "arr_delay": delay + random.normal(0, 20, rows),
        }
    )


def make_pipeline_of_gpudb() -> ml.Pipeline:
    """Returns the encoders as gpudb has them."""
    return ml.Pipeline(
        [
            ml.SimpleImputer(NUMBERS),
            ml.StandardScaler(NUMBERS),
            ml.MinMaxScaler("air_time"),
            ml.RobustScaler("hour"),
            ml.KBinsDiscretizer("month", n_bins=4),
            ml.Log("speed"),
            ml.OneHotEncoder(["carrier", "origin"]),
            ml.OrdinalEncoder("plane"),
            ml.CountEncoder("tailnum"),
            ml.TargetEncoder("dest", target="arr_delay", key="id", smooth=SMOOTH),
            ml.DatetimeEncoder("time_hour"),
            ml.DropCols("arr_delay"),
        ]
    )


class ScikitLearn:
    """The encoders by scikit-learn, with pandas for what it lacks."""

    def __init__(self, flights: pd.DataFrame) -> None:
        self.flights = flights

    def fit(self) -> None:
        """Fits all encoders."""
        bins = preprocessing.KBinsDiscretizer(4, encode="ordinal", quantile_method="linear")
        self.columns = ColumnTransformer(
            [
                ("numbers", make_pipeline(SimpleImputer(), preprocessing.StandardScaler()), NUMBERS),
                ("least", preprocessing.MinMaxScaler(), ["air_time"]),
                ("robust", preprocessing.RobustScaler(), ["hour"]),
                ("bins", bins, ["month"]),
                ("log", preprocessing.FunctionTransformer(np.log1p), ["speed"]),
                ("indicators", preprocessing.OneHotEncoder(sparse_output=False), ["carrier", "origin"]),
                ("ordinals", preprocessing.OrdinalEncoder(), ["plane"]),
                ("target", preprocessing.TargetEncoder(target_type="continuous", smooth=SMOOTH), ["dest"]),
            ]
        ).fit(self.flights, self.flights.arr_delay)
        self.counts = self.flights.tailnum.value_counts()

    def transform(self) -> dict[str, Any]:
        """Returns some of the columns by name; all are computed."""
        flights, block = self.flights, self.columns.transform(self.flights)
        times = flights.time_hour.dt
        parts = [times.year, times.month, times.day, times.hour, flights.time_hour.astype("int64")]
        assert all(len(part) == len(flights) for part in parts)
        counts = flights.tailnum.map(self.counts)
        return {"dep_delay": block[:, 0], "month": block[:, 4], "dest": block[:, -1], "tailnum": counts}


class Polars:
    """The encoders as expressions of Polars."""

    def __init__(self, flights: pd.DataFrame) -> None:
        self.flights = pl.from_pandas(flights).with_columns(pl.col("dep_delay").fill_nan(None))

    def fit(self) -> None:
        """Computes what the expressions of `transform` need."""
        flights, c = self.flights, pl.col
        filled = [c(name).fill_null(c(name).mean()) for name in NUMBERS]
        self.mean = flights.select(filled).mean()
        self.std = flights.select(each.std(ddof=0) for each in filled)
        self.range = flights.select(c("air_time").min().alias("low"), c("air_time").max().alias("high")).row(0)
        hours = [c("hour").quantile(share, "linear").alias(str(share)) for share in (0.25, 0.5, 0.75)]
        self.hours = flights.select(hours).row(0)
        self.edges = flights.select(c("month").quantile(at / 4, "linear").alias(str(at)) for at in (1, 2, 3)).row(0)
        self.values = {name: flights[name].unique().sort() for name in ("carrier", "origin", "plane")}
        self.counts = flights.group_by("tailnum").len("count")
        mean = flights["arr_delay"].mean()
        smoothed = (c("arr_delay").sum() + SMOOTH * mean) / (pl.len() + SMOOTH)
        self.targets = flights.group_by("dest").agg(smoothed.alias("encoding"))

    def transform(self) -> dict[str, Any]:
        """Returns some of the columns by name; all are computed."""
        c = pl.col
        low, high = self.range
        quarter, median, most = self.hours
        means, stds = self.mean.row(0), self.std.row(0)
        scaled = [(c(n).fill_null(mean) - mean) / std for n, mean, std in zip(NUMBERS, means, stds, strict=True)]
        month = sum((c("month") >= edge).cast(pl.Int32) for edge in self.edges)
        indicators = [
            (c(name) == value).cast(pl.Int16).alias(f"{name}_{value}")
            for name in ("carrier", "origin")
            for value in self.values[name]
        ]
        times = c("time_hour").dt
        found = (
            self.flights.lazy()
            .join(self.counts.lazy(), on="tailnum", how="left", maintain_order="left")
            .join(self.targets.lazy(), on="dest", how="left", maintain_order="left")
            .select(
                *scaled,
                ((c("air_time") - low) / (high - low)),
                ((c("hour") - median) / (most - quarter)),
                month.alias("month"),
                c("speed").log1p(),
                *indicators,
                c("plane").cast(pl.Enum(self.values["plane"])).to_physical(),
                c("count").alias("tailnum"),
                c("encoding").alias("dest"),
                times.year().alias("year"),
                times.month().alias("time_month"),
                times.day().alias("day"),
                times.hour().alias("time_hour_hour"),
                times.epoch("s"),
            )
            .collect()
        )
        return {name: found[name].to_numpy() for name in ("dep_delay", "month", "dest", "tailnum")}


class Gpudb:
    """The encoders by gpudb, over a table."""

    def __init__(self, flights: pd.DataFrame) -> None:
        self.db = gpudb.connect()
        self.db.register("given", flights)
        self.db.execute("CREATE TABLE flights AS SELECT * FROM given")
        self.flights = self.db.table("flights")

    def fit(self) -> None:
        """Fits the pipeline."""
        self.pipeline = make_pipeline_of_gpudb().fit(self.flights)

    def transform(self) -> dict[str, Any]:
        """Returns some of the columns by name; all are computed."""
        table = self.pipeline.transform(self.flights).arrow()
        order = np.argsort(table.column("id").to_numpy())
        return {name: table.column(name).to_numpy()[order] for name in ("dep_delay", "month", "dest", "tailnum")}


def measure(rows: int, rounds: int) -> list[Row]:
    """Returns the rows of the result: first and hot runs of each system, which take turns."""
    flights = make_flights(rows)
    systems: dict[str, Any] = {
        "gpudb": Gpudb(flights),
        "scikit-learn": ScikitLearn(flights),
        "polars": Polars(flights),
    }
    times: dict[tuple[str, str], list[float]] = {}
    answers: dict[str, dict[str, Any]] = {}
    for _ in range(rounds + 1):
        for name, system in systems.items():
            times.setdefault(("fit", name), []).append(_time(system.fit))
            times.setdefault(("transform", name), []).append(
                _time(lambda s=system, n=name: answers.update({n: s.transform()}))
            )
    found = []
    for (case, name), seconds in times.items():
        agree = all(
            np.allclose(np.asarray(value, dtype=float), np.asarray(answers["scikit-learn"][column], dtype=float))
            for column, value in answers[name].items()
        )
        found.append(Row(f"{case} first", name, seconds[0], seconds[0], 1, rows, answers_agree=agree))
        hot = seconds[1:]
        found.append(Row(case, name, statistics.median(hot), min(hot), len(hot), rows, answers_agree=agree))
    return found


def _time(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def main() -> None:
    """Measures, prints and saves."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--save", action="store_true")
    given = parser.parse_args()
    rows = measure(given.rows, given.rounds)
    fastest = {row.case: min(other.median_s or 0 for other in rows if other.case == row.case) for row in rows}
    for row in rows:
        assert row.median_s is not None
        ratio = row.median_s / fastest[row.case]
        print(f"{row.case:16}{row.system:14}{row.median_s:8.3f} s{ratio:7.2f} times the fastest, {row.answers_agree}")
    if given.save:
        versions = {name: version(name) for name in ("scikit-learn", "polars", "pandas", "numpy")}
        save_results("features", rows, versions, program="bench_features")


if __name__ == "__main__":
    main()
