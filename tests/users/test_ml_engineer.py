"""An engineer of models: features fitted in the database, XGBoost beside it, and both served to another client."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import psycopg
import pytest

import gpudb
from gpudb import ml
from tests.support.connection_urls import to_url
from tests.support.server_program import running_server
from tests.users.public_files import write_passengers, write_taxi

xgboost = pytest.importorskip("xgboost")

SETTINGS = {"objective": "binary:logistic", "max_depth": 3, "eta": 0.3, "nthread": 1, "seed": 1}


def test_survival_from_features_to_a_served_answer(tmp_path: Path) -> None:
    passengers = write_passengers(tmp_path)
    with running_server(tmp_path / "data") as dsn, gpudb.connect(to_url(dsn)) as db:
        db.execute(f"CREATE TABLE passengers AS SELECT * FROM '{tmp_path}/titanic.csv'")
        train, test = ml.train_test_split(db.table("passengers"), key="PassengerId", test_size=0.25, seed=3)
        assert len(train) + len(test) == len(passengers)
        pipeline = ml.Pipeline(
            [
                ml.SimpleImputer("Age", strategy="median", add_indicator=True),
                ml.StandardScaler(["Age", "Fare"]),
                ml.OneHotEncoder("Sex"),
                ml.Categorify("Embarked"),
                ml.DropCols(["Name", "Ticket", "Cabin"]),
            ]
        ).fit(train)
        features = [name for name in pipeline.transform(train).columns if name not in {"PassengerId", "Survived"}]
        # The imputer learned the median of the rows to train on, as pandas has it
        known = train[["Age", "Fare"]].pandas()
        filled = known.Age.fillna(known.Age.median())
        scaled = pipeline.transform(train).order('"PassengerId"').pandas()
        assert np.allclose(scaled.Fare.mean(), 0, atol=1e-9)
        assert np.isclose(scaled.Age.max(), (filled.max() - filled.mean()) / filled.std(ddof=0))
        # A model beside the database, and its file within
        matrix = pipeline.transform(train).order('"PassengerId"')[[*features, "Survived"]].dmatrix("Survived")
        model = xgboost.train(SETTINGS, matrix, 20)
        held_out = pipeline.transform(test).order('"PassengerId"').pandas()
        scores = model.predict(xgboost.DMatrix(held_out[features].to_numpy(np.float32), feature_names=features))
        assert ((scores > 0.5) == (held_out.Survived == 1)).mean() > 0.7
        model.save_model(tmp_path / "survival.ubj")
        arguments = ", ".join(f'"{name}" double precision' for name in features)
        db.execute(
            f"CREATE MODEL survival FROM FILE '{tmp_path}/survival.ubj' FUNCTION survive({arguments})"
            " RETURNS double precision USING xgboost"
        )
        inputs = ["Pclass", "Sex", "Age", "SibSp", "Parch", "Fare", "Embarked"]
        pipeline.save(db, "prepare_passenger", inputs=inputs)
        called = ", ".join(f'f."{name}"' for name in features)
        # Another client asks with raw values
        raw = passengers.set_index("PassengerId")
        with psycopg.connect(dsn, autocommit=True) as client:
            asked = (
                f"SELECT survive({called}) FROM prepare_passenger"
                "(%s::bigint, %s, %s::float8, %s::bigint, %s::bigint, %s::float8, %s) AS f"
            )
            for identity, score in list(zip(held_out.PassengerId, scores, strict=True))[:5]:
                values = [None if pd.isna(each) else each for each in raw.loc[identity, inputs].tolist()]
                assert client.execute(asked, values).fetchone() == (pytest.approx(float(score), abs=1e-6),)
            # Who was not there in training has an answer too
            never = client.execute(asked, [3, "male", None, 0, 0, 7.25, "never seen"]).fetchone()
            assert never is not None
            assert 0 <= never[0] <= 1


def test_fares_learned_in_sql_and_kept_over_a_restart(tmp_path: Path) -> None:
    rides = write_taxi(tmp_path)
    question = "SELECT predict_fare(2.0, 800)"
    with running_server(tmp_path / "data") as dsn, psycopg.connect(dsn, autocommit=True) as client:
        client.execute(
            f"CREATE VIEW rides AS SELECT *, extract(epoch FROM tpep_dropoff_datetime - tpep_pickup_datetime)::int AS"
            f" seconds FROM read_files('{tmp_path}/yellow_tripdata_2024-*.parquet')"
        )
        client.execute(
            "CREATE MODEL fares FROM (SELECT trip_distance, seconds, fare_amount FROM rides)"
            " TARGET fare_amount FUNCTION predict_fare USING linear"
        )
        seconds = (rides.tpep_dropoff_datetime - rides.tpep_pickup_datetime).dt.total_seconds()
        design = np.column_stack([np.ones(len(rides)), rides.trip_distance, seconds])
        solved = np.linalg.lstsq(design, rides.fare_amount, rcond=None)[0]
        before = client.execute(question).fetchone()
        assert before == (pytest.approx(float(solved @ [1, 2.0, 800]), rel=1e-9),)
        # The table of an experiment: a pipeline's features by a window over each zone's rides
        with gpudb.connect(to_url(dsn)) as db:
            rolling = ml.Rolling(
                "fare_amount", order="tpep_pickup_datetime", by="PULocationID", window="1 day", stats=["mean", "count"]
            )
            ml.Pipeline([rolling]).fit(db.table("rides")).save(db, "recent", over="rides")
        last = client.execute(
            'SELECT fare_amount_count_1_day FROM recent WHERE "PULocationID" = 7 ORDER BY tpep_pickup_datetime DESC LIMIT 1'
        ).fetchone()
        seventh = rides[rides.PULocationID == 7].set_index("tpep_pickup_datetime").fare_amount
        assert last == (int(seventh.rolling("1D").count().iloc[-1]),)
    with running_server(tmp_path / "data") as dsn, psycopg.connect(dsn, autocommit=True) as client:
        assert client.execute(question).fetchone() == before
