"""Models in SQL: their answers are those of the libraries by hand, and they live as functions do."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpudb.catalog.model_functions import drop_function, find_model
from gpudb.session.database import Database
from gpudb.session.execution.routines.model_calls import TRAINING_POOL
from gpudb.session.session import Session
from gpudb.session.statements import create_model
from tests.support.sessions import fails, run, state, value, wait_until

ROWS = 400


def make_rows() -> pa.Table:
    """Rows with numbers, NULLs, booleans and texts, and targets of each kind."""
    random = np.random.default_rng(5)
    a, b = random.normal(size=ROWS), random.integers(0, 9, ROWS)
    flag, place = random.random(ROWS) < 0.4, random.choice(["it's", "b", "ü"], ROWS)
    y = 3 * a - b + 2 * flag + np.where(place == "b", 5, 0) + random.normal(scale=0.1, size=ROWS)
    return pa.table(
        {
            "id": np.arange(ROWS),
            "a": pa.array(a, mask=random.random(ROWS) < 0.1),
            "b": b.astype(np.int32),
            "flag": flag,
            "place": pa.array(place, mask=random.random(ROWS) < 0.1),
            "x": random.normal(size=ROWS),
            "y": y,
            "good": y > 0,
            "grade": pa.array(np.digitize(y, [-4, 0]).astype(np.int32)),
        }
    )


TABLE = make_rows()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rows")
    pq.write_table(TABLE, path / "rows.parquet")
    return path


@pytest.fixture(scope="module")
def database(folder: Path) -> Iterator[Database]:
    made = Database(None)
    run(made.session("gpudb"), f"CREATE TABLE rows AS SELECT * FROM '{folder}/rows.parquet'")
    yield made
    made.close()


def get(name: str) -> np.ndarray[Any, Any]:
    """Returns a column, with NaN for NULL."""
    return TABLE.column(name).to_numpy(zero_copy_only=False).astype(np.float64)


def encode(name: str) -> np.ndarray[Any, Any]:
    """Returns a column of texts as a column of zeros and ones for each, in order; NaN for NULL."""
    texts = TABLE.column(name).to_pylist()
    known = sorted({text for text in texts if text is not None})
    return np.array([[np.nan if text is None else float(text == each) for each in known] for text in texts])


def column(session: Session, sql: str) -> list[Any]:
    """Runs a query of one column."""
    return [row[0] for row in run(session, sql)]


def train(session: Session, columns: str, rest: str) -> None:
    run(session, f"CREATE OR REPLACE MODEL m FROM (SELECT {columns} FROM rows ORDER BY id) {rest}")


@pytest.mark.parametrize(("kind", "option"), [("linear", ""), ("ridge", "WITH (l2 = 2.5)")])
def test_linear_models(session: Session, kind: str, option: str) -> None:
    from sklearn.linear_model import LinearRegression, Ridge

    train(session, "a, b, flag, place, y", f"TARGET y FUNCTION p USING {kind} {option}")
    matrix = np.column_stack([get("a"), get("b"), get("flag"), encode("place")])
    complete = ~np.isnan(matrix).any(axis=1)
    made = LinearRegression() if kind == "linear" else Ridge(alpha=2.5)
    made.fit(matrix[complete], get("y")[complete])
    found = column(session, "SELECT p(a, b, flag, place) FROM rows ORDER BY id")
    assert [each is None for each in found] == (~complete).tolist()
    wanted = made.predict(matrix[complete])
    np.testing.assert_allclose([each for each in found if each is not None], wanted, rtol=1e-9)
    r2 = value(session, "SELECT (metrics->'training'->>'r2')::float8 FROM gpudb_models")
    assert r2 == pytest.approx(made.score(matrix[complete], get("y")[complete]))
    assert value(session, "SELECT rows FROM gpudb_models") == complete.sum()


def test_logistic_regression_of_two_classes(session: Session) -> None:
    from sklearn.linear_model import LogisticRegression

    train(session, "b, x, flag, good", "TARGET good FUNCTION p USING logistic WITH (c = 0.5)")
    matrix = np.column_stack([get("b"), get("x"), get("flag")])
    made = LogisticRegression(C=0.5, max_iter=1000, random_state=0).fit(matrix, get("good"))
    rows = run(session, "SELECT p(b, x, flag), p_proba(b, x, flag) FROM rows ORDER BY id")
    assert [label for label, _ in rows] == made.predict(matrix).astype(bool).tolist()
    np.testing.assert_allclose([each for _, each in rows], made.predict_proba(matrix)[:, 1], rtol=1e-9)
    assert value(session, "SELECT p_proba(1e300, 0, true)") in (pytest.approx(0, abs=1e-300), pytest.approx(1))


def test_logistic_regression_of_three_classes(session: Session) -> None:
    from sklearn.linear_model import LogisticRegression

    train(session, "b, x, grade", "TARGET grade FUNCTION p USING logistic")
    assert value(session, "SELECT task FROM gpudb_models") == "classification"
    matrix = np.column_stack([get("b"), get("x")])
    made = LogisticRegression(max_iter=1000, random_state=0).fit(matrix, get("grade"))
    rows = run(session, "SELECT p(b, x), p_proba(b, x) FROM rows ORDER BY id")
    assert [label for label, _ in rows] == made.predict(matrix).tolist()
    np.testing.assert_allclose([each for _, each in rows], made.predict_proba(matrix), rtol=1e-7)
    assert run(session, "SELECT p(NULL, 1), p_proba(b, NULL) FROM rows LIMIT 1") == [(None, None)]


def test_clusters(session: Session) -> None:
    from sklearn.cluster import KMeans

    train(session, "b, x", "FUNCTION p USING kmeans WITH (clusters = 4, runs = 2, seed = 3)")
    matrix = np.column_stack([get("b"), get("x")])
    made = KMeans(4, n_init=2, random_state=3).fit(matrix)
    assert column(session, "SELECT p(b, x) FROM rows ORDER BY id") == made.labels_.tolist()
    assert value(session, "SELECT (metrics->>'inertia')::float8 FROM gpudb_models") == pytest.approx(made.inertia_)


def test_boosted_trees_of_xgboost(session: Session) -> None:
    import xgboost

    option = "WITH (trees = 20, depth = 3, learning_rate = 0.2, seed = 7)"
    train(session, "a, b, flag, place, y", f"TARGET y FUNCTION p USING xgboost {option}")
    codes = np.where(np.isnan(encode("place")).any(axis=1), np.nan, encode("place").argmax(axis=1))
    matrix = np.column_stack([get("a"), get("b"), get("flag"), codes]).astype(np.float32)
    data = xgboost.DMatrix(matrix, get("y"), feature_types=["q", "q", "q", "c"], enable_categorical=True)
    options = {"objective": "reg:squarederror", "max_depth": 3, "learning_rate": 0.2, "seed": 7}
    made = xgboost.train(options, data, 20)
    found = column(session, "SELECT p(a, b, flag, place) FROM rows ORDER BY id")
    np.testing.assert_array_equal(found, made.predict(data).astype(np.float64))
    unknown = xgboost.DMatrix(np.full((1, 4), np.nan, np.float32), feature_types=["q", "q", "q", "c"])
    assert value(session, "SELECT p(NULL, NULL, NULL, 'elsewhere')") == made.predict(unknown)[0]


@pytest.mark.parametrize("target", ["good", "grade"])
def test_classifying_trees_of_xgboost(session: Session, target: str) -> None:
    import xgboost

    option = "WITH (objective = 'classification', trees = 5)"
    train(session, f"a, x, {target}", f"TARGET {target} FUNCTION p USING xgboost {option}")
    data = xgboost.DMatrix(np.column_stack([get("a"), get("x")]).astype(np.float32), get(target))
    options = {"objective": "binary:logistic"} if target == "good" else {"objective": "multi:softprob", "num_class": 3}
    wanted = xgboost.train(options, data, 5).predict(data).astype(np.float64)
    rows = run(session, "SELECT p(a, x), p_proba(a, x) FROM rows ORDER BY id")
    np.testing.assert_array_equal([each for _, each in rows], wanted)
    assert [label for label, _ in rows] == (wanted > 0.5 if target == "good" else wanted.argmax(axis=1)).tolist()


def test_boosted_trees_of_lightgbm(session: Session) -> None:
    import lightgbm

    train(session, "a, b, x, place", "TARGET place FUNCTION p USING lightgbm WITH (trees = 6, leaves = 5)")
    texts = TABLE.column("place").to_pylist()
    known = np.array([text is not None for text in texts])
    labels = sorted({text for text in texts if text is not None})
    matrix = np.column_stack([get("a"), get("b"), get("x")])
    target = np.array([labels.index(text) for text in texts if text is not None])
    options = {"objective": "multiclass", "num_class": 3, "num_leaves": 5, "verbosity": -1}
    made = lightgbm.train(options, lightgbm.Dataset(matrix[known], target, params={"verbosity": -1}), 6)
    wanted = made.predict(matrix)
    rows = run(session, "SELECT p(a, b, x), p_proba(a, b, x) FROM rows ORDER BY id")
    np.testing.assert_allclose([each for _, each in rows], wanted, rtol=1e-12)
    assert [label for label, _ in rows] == [labels[place] for place in np.asarray(wanted).argmax(axis=1)]


@pytest.mark.parametrize("target", ["y", "good", "grade"])
def test_random_forests(session: Session, target: str) -> None:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    objective = "regression" if target == "y" else "classification"
    option = f"WITH (trees = 7, depth = 4, seed = 2, objective = '{objective}')"
    train(session, f"a, x, place, {target}", f"TARGET {target} FUNCTION p USING random_forest {option}")
    matrix = np.column_stack([get("a"), get("x"), encode("place")])
    made = RandomForestRegressor if target == "y" else RandomForestClassifier
    forest = made(7, max_depth=4, random_state=2).fit(matrix, get(target))
    found = column(session, "SELECT p(a, x, place) FROM rows ORDER BY id")
    np.testing.assert_allclose(np.array(found, float), forest.predict(matrix), rtol=1e-12)
    if target == "grade":
        likely = column(session, "SELECT p_proba(a, x, place) FROM rows ORDER BY id")
        np.testing.assert_allclose(likely, forest.predict_proba(matrix), rtol=1e-12)


def test_a_share_of_the_rows_is_for_validation(session: Session) -> None:
    import xgboost

    train(session, "b, x, y", "TARGET y FUNCTION p USING xgboost WITH (trees = 9, validation = 0.25, seed = 4)")
    held = np.zeros(ROWS, bool)
    held[np.random.default_rng(4).permutation(ROWS)[: ROWS // 4]] = True
    matrix = np.column_stack([get("b"), get("x")]).astype(np.float32)
    made = xgboost.train({"seed": 4}, xgboost.DMatrix(matrix[~held], get("y")[~held]), 9)
    errors = made.predict(xgboost.DMatrix(matrix[held])) - get("y")[held]
    figures = value(session, "SELECT metrics->'validation' FROM gpudb_models")
    assert value(session, f"SELECT ('{figures}'::jsonb->>'rows')::int") == ROWS // 4
    rmse = value(session, "SELECT (metrics->'validation'->>'rmse')::float8 FROM gpudb_models")
    assert rmse == pytest.approx(np.sqrt(np.mean(errors**2)))


def test_it_stops_early(session: Session) -> None:
    option = "WITH (trees = 500, validation = 0.3, early_stopping = 3)"
    for kind in ("xgboost", "lightgbm"):
        train(session, "x, y", f"TARGET y FUNCTION p USING {kind} {option}")
        assert value(session, "SELECT (metrics->>'trees')::int < 500 FROM gpudb_models") is True
    assert state(session, "CREATE MODEL n FROM rows TARGET y FUNCTION q USING xgboost WITH (early_stopping = 3)") == (
        "22023"
    )


def test_a_call_stands_anywhere_in_a_query(session: Session) -> None:
    train(session, "a, b, y", "TARGET y FUNCTION p USING xgboost WITH (trees = 3)")
    scores = np.array(column(session, "SELECT p(a, b) FROM rows ORDER BY id"))
    assert value(session, "SELECT count(*) FROM rows WHERE p(a, b) > 0") == (scores > 0).sum()
    assert value(session, "SELECT sum(p(a, b)) FROM rows") == pytest.approx(scores.sum())
    found = column(session, "SELECT id FROM rows ORDER BY p(a, b) DESC, id LIMIT 3")
    assert found == sorted(range(ROWS), key=lambda each: (-scores[each], each))[:3]
    grouped = run(session, "SELECT p(a, b) > 0 AS up, count(*) FROM rows GROUP BY 1 ORDER BY 1")
    assert grouped == [(False, (scores <= 0).sum()), (True, (scores > 0).sum())]
    case = column(session, "SELECT CASE WHEN b > 4 THEN p(a, b) ELSE -1 END FROM rows ORDER BY id")
    assert case == np.where(get("b") > 4, scores, -1).tolist()
    assert column(session, "SELECT coalesce(p(a, b), 0) + 1 FROM rows ORDER BY id") == (scores + 1).tolist()
    twice = "SELECT p(p(a, b), b) FROM rows ORDER BY id LIMIT 5"
    assert column(session, twice) == [value(session, f"SELECT p({each}, {int(b)})") for each, b in
                                      zip(scores[:5].tolist(), get("b")[:5], strict=True)]  # fmt: skip
    assert column(session, "SELECT p(a, b) FROM rows WHERE false") == []
    assert column(session, "SELECT p(NULL, 1) FROM rows LIMIT 2") == [value(session, "SELECT p(NULL, 1)")] * 2
    run(session, "CREATE TABLE scored AS SELECT id, p(a, b) AS score FROM rows")
    assert column(session, "SELECT score FROM scored ORDER BY id") == scores.tolist()
    run(session, "DROP TABLE scored")


def test_no_rows_and_one_row(session: Session) -> None:
    def create(where: str, kind: str) -> str:
        return f"CREATE OR REPLACE MODEL m FROM (SELECT b, y FROM rows WHERE {where}) TARGET y FUNCTION p USING {kind}"

    for kind in ("linear", "xgboost", "lightgbm", "random_forest"):
        assert state(session, create("false", kind)) == "22023"
        run(session, create("id = 3", kind))
        found = value(session, "SELECT p(b) FROM rows WHERE id = 3")
        assert found == pytest.approx(TABLE.column("y")[3].as_py(), rel=1e-6)
    assert state(session, create("id = 3", "xgboost WITH (validation = 0.5)")) == "22023"


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("FROM rows TARGET nothing FUNCTION q USING linear", "42703"),
        ("FROM nothing TARGET y FUNCTION q USING linear", "42P01"),
        ("FROM (SELECT 1 AS a, 2 AS a, 3 AS y) TARGET y FUNCTION q USING linear", "42701"),
        ("FROM (SELECT y FROM rows) TARGET y FUNCTION q USING linear", "22023"),
        ("FROM (SELECT x, y FROM rows) TARGET y FUNCTION q USING magic", "22023"),
        ("FROM (SELECT x, y FROM rows) TARGET y FUNCTION q USING linear WITH (trees = 3)", "22023"),
        ("FROM (SELECT x, y FROM rows) TARGET y FUNCTION q USING xgboost WITH (trees = 0)", "22023"),
        ("FROM (SELECT x, y FROM rows) TARGET y FUNCTION q USING xgboost WITH (trees = 'many')", "22023"),
        ("FROM (SELECT x, y FROM rows) TARGET y FUNCTION q USING xgboost WITH (learning_rate = 'nan')", "22023"),
        ("FROM (SELECT x, y FROM rows) TARGET y FUNCTION q USING xgboost WITH (seed = 1, seed = 2)", "22023"),
        ("FROM (SELECT x, y FROM rows) TARGET y FUNCTION q USING xgboost WITH (objective = 'rank:ndcg')", "22023"),
        ("FROM (SELECT x, y FROM rows) TARGET y FUNCTION q USING kmeans", "42601"),
        ("FROM (SELECT x, y FROM rows) FUNCTION q USING linear", "42601"),
        ("FROM (SELECT x, y FROM rows) TARGET y FUNCTION q", "42601"),
        ("FROM (SELECT x, y FROM rows TARGET y FUNCTION q USING linear", "42601"),
        ("FROM (DELETE FROM rows RETURNING x, y) TARGET y FUNCTION q USING linear", "42601"),
        ("FROM (SELECT x, y FROM rows) TARGET y FUNCTION q RETURNS int USING linear", "42P13"),
        ("FROM (SELECT x, place FROM rows) TARGET place FUNCTION q USING linear", "42804"),
        ("FROM (SELECT x, y FROM rows) TARGET y FUNCTION q USING logistic", "0A000"),
        ("FROM (SELECT x, true AS y FROM rows) TARGET y FUNCTION q USING logistic", "22023"),
        ("FROM (SELECT now() AS x, y FROM rows) TARGET y FUNCTION q USING linear", "0A000"),
        ("FROM (SELECT id::text AS x, y FROM rows CROSS JOIN generate_series(1, 3)) TARGET y FUNCTION q USING linear"
         .replace("id::text", "(id * 3 + generate_series)::text"), "0A000"),
        ("FROM (SELECT x, 'NaN'::float8 AS y FROM rows) TARGET y FUNCTION q USING xgboost", "22023"),
        ("FROM (SELECT x / 0 AS x, y FROM rows) TARGET y FUNCTION q USING xgboost", "22012"),
        ("FROM (SELECT b, grade FROM rows) TARGET grade FUNCTION q USING xgboost WITH (objective = 'binary:logistic')",
         "22023"),
        ("FROM (SELECT x, y FROM rows LIMIT 3) FUNCTION q USING kmeans WITH (clusters = 4)".replace(", y", ""),
         "22023"),
        ("FROM (SELECT x, y FROM rows) TARGET y FUNCTION nowhere.q USING linear", "0A000"),
    ],
)  # fmt: skip
def test_what_fails_leaves_nothing(session: Session, sql: str, code: str) -> None:
    before = value(session, "SELECT count(*) FROM pg_class"), value(session, "SELECT count(*) FROM pg_proc")
    assert state(session, f"CREATE MODEL failing {sql}") == code
    assert column(session, "SELECT model FROM gpudb_models WHERE model = 'failing'") == []
    assert (value(session, "SELECT count(*) FROM pg_class"), value(session, "SELECT count(*) FROM pg_proc")) == before


def test_an_error_says_where(session: Session) -> None:
    text = "CREATE MODEL n FROM (SELECT nothing, y FROM rows) TARGET y FUNCTION q USING linear"
    error = fails(session, f"SELECT 1; {text}")
    assert (error.sqlstate, error.position) == ("42703", len("SELECT 1; ") + text.index("nothing") + 1)


def test_a_missing_library_is_named(session: Session, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "lightgbm.py").write_text("raise ImportError('no lightgbm')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    TRAINING_POOL.close()
    error = fails(session, "CREATE MODEL n FROM (SELECT x, y FROM rows) TARGET y FUNCTION q USING lightgbm")
    TRAINING_POOL.close()
    assert (error.sqlstate, error.hint) == ("0A000", "Install gpudb-sql[analytics].")


def test_a_cancel_ends_training(session: Session, other: Session) -> None:
    found: list[str] = []
    text = "CREATE MODEL endless FROM (SELECT a, b, x, y FROM rows) TARGET y FUNCTION q USING xgboost"
    thread = threading.Thread(target=lambda: found.append(state(other, f"{text} WITH (trees = 1000000)")))
    thread.start()
    wait_until(lambda: other.running.active, "the training runs")
    other.cancel()
    thread.join(120)
    assert found == ["57014"]
    assert column(session, "SELECT model FROM gpudb_models WHERE model = 'endless'") == []
    run(other, "SET statement_timeout = '500ms'")
    assert state(other, f"{text} WITH (trees = 1000000)") == "57014"
    assert value(other, "SELECT 1") == 1


# ---- models as objects


def test_it_lives_as_long_as_its_database(tmp_path: Path, folder: Path) -> None:
    database = Database(tmp_path / "data")
    session = database.session("gpudb")
    run(session, f"CREATE TABLE rows AS SELECT * FROM '{folder}/rows.parquet'")
    train(session, "a, b, flag, place, y", "TARGET y FUNCTION p USING xgboost WITH (trees = 5)")
    train(session, "a, b, flag, place, y", "TARGET y FUNCTION p USING xgboost WITH (trees = 6)")
    run(session, "CREATE MODEL lin FROM (SELECT b, y FROM rows) TARGET y FUNCTION plin USING linear")
    run(session, "CREATE VIEW scored AS SELECT id, p(a, b, flag, place) AS score, plin(b) AS line FROM rows")
    before = run(session, "SELECT * FROM scored ORDER BY id")
    models = run(session, "SELECT * FROM gpudb_models")
    session.close()
    database.close()
    database = Database(tmp_path / "data")
    session = database.session("gpudb")
    assert run(session, "SELECT * FROM scored ORDER BY id") == before
    assert run(session, "SELECT * FROM gpudb_models") == models
    assert column(session, "SELECT version FROM gpudb_models ORDER BY model") == [1, 2]
    session.close()
    database.close()


def test_a_rollback_undoes_it(session: Session) -> None:
    run(session, "BEGIN")
    run(session, "CREATE MODEL gone FROM (SELECT x, y FROM rows) TARGET y FUNCTION pg USING xgboost WITH (trees = 2)")
    assert value(session, "SELECT count(pg(x)) FROM rows") == ROWS
    run(session, "ROLLBACK")
    assert state(session, "SELECT pg(1)") == "42883"
    assert column(session, "SELECT model FROM gpudb_models WHERE model = 'gone'") == []


def test_its_function_is_dropped_with_it_alone(session: Session) -> None:
    before = value(session, "SELECT count(*) FROM pg_class")
    run(
        session, "CREATE MODEL d FROM (SELECT x, good FROM rows) TARGET good FUNCTION pd USING xgboost WITH (trees = 2)"
    )
    error = fails(session, "DROP FUNCTION pd")
    assert (error.sqlstate, error.hint) == ("2BP01", "You can drop model d instead.")
    assert state(session, "DROP FUNCTION pd_proba(double precision)") == "2BP01"
    run(session, "CREATE VIEW uses AS SELECT pd_proba(x) FROM rows")
    assert state(session, "DROP MODEL d") == "2BP01"
    assert state(session, "CREATE OR REPLACE MODEL d FROM (SELECT b, good FROM rows) TARGET good FUNCTION pd"
                          " USING xgboost") == "2BP01"  # fmt: skip
    assert value(session, "SELECT count(*) FROM uses") == ROWS
    run(session, "DROP MODEL d CASCADE")
    assert state(session, "SELECT pd(1)") == "42883"
    assert state(session, "SELECT * FROM uses") == "42P01"
    assert value(session, "SELECT count(*) FROM pg_class") == before
    assert state(session, "DROP MODEL d") == "42704"
    run(session, "DROP MODEL IF EXISTS d, also")
    assert state(session, "DROP MODEL nowhere.d") == "3F000"


def test_a_table_may_be_named_model(session: Session) -> None:
    run(session, "CREATE TABLE model (a int); CREATE ROLE bob; GRANT SELECT ON model TO bob")
    assert value(session, "SELECT has_table_privilege('bob', 'model', 'SELECT')") is True
    run(session, "REVOKE ALL ON model FROM bob")
    assert value(session, "SELECT has_table_privilege('bob', 'model', 'SELECT')") is False
    run(session, "DROP TABLE model; DROP ROLE bob")


def test_names(session: Session) -> None:
    create = "CREATE MODEL {} FROM (SELECT x, y FROM rows) TARGET y FUNCTION {} USING linear"
    run(session, create.format('"A model"', '"A function"'))
    assert state(session, create.format('"A model"', "other")) == "42710"
    run(session, create.format('IF NOT EXISTS "A model"', "other"))
    assert state(session, create.format("another", '"A function"')) == "42723"
    assert state(session, "SELECT other(1)") == "42883"
    run(session, 'ALTER MODEL "A model" RENAME TO plain')
    assert state(session, 'ALTER MODEL "A model" RENAME TO again') == "42704"
    run(session, "CREATE SCHEMA room")
    run(session, create.format("room.plain", "inside"))
    assert state(session, "ALTER MODEL room.plain RENAME TO plain") == "42710"
    assert value(session, 'SELECT room.inside(0) = "A function"(0)') is True
    run(session, "COMMENT ON MODEL room.plain IS 'it is plain'")
    assert value(session, "SELECT obj_description('room.inside'::regproc)") == "it is plain"
    assert state(session, create.format("pg_catalog.m", "inside")) == "42501"
    assert state(session, "DROP SCHEMA room") == "2BP01"
    run(session, "DROP SCHEMA room CASCADE; DROP MODEL plain")


def test_privileges(session: Session, database: Database) -> None:
    run(
        session,
        "CREATE ROLE maker; CREATE ROLE guest; CREATE SCHEMA shop; CREATE TABLE shop.secret (x float8, y float8)",
    )
    run(session, "INSERT INTO shop.secret SELECT i, i FROM generate_series(1, 10) i")
    run(session, "GRANT USAGE ON SCHEMA shop TO maker, guest")
    create = "CREATE MODEL shop.m FROM (SELECT x, y FROM shop.secret) TARGET y FUNCTION p USING xgboost"
    other = database.session("gpudb")
    run(other, "SET ROLE maker")
    assert state(other, create) == "42501"
    run(session, "GRANT CREATE ON SCHEMA shop TO maker")
    assert state(other, create) == "42501"
    run(session, "GRANT SELECT ON shop.secret TO maker")
    run(other, create)
    run(other, "SET ROLE guest")
    assert value(other, "SELECT shop.p(3) > 2") is True
    assert run(other, "SELECT owner, training_query FROM gpudb_models WHERE schema = 'shop'") == [("maker", None)]
    assert "Query" not in dict(run(other, "SHOW MODEL shop.m"))
    for sql in ("DROP MODEL shop.m", "ALTER MODEL shop.m RENAME TO n", "COMMENT ON MODEL shop.m IS 'mine'",
                create.replace("CREATE", "CREATE OR REPLACE", 1)):  # fmt: skip
        assert state(other, sql) == "42501", sql
    run(session, "REVOKE EXECUTE ON MODEL shop.m FROM public")
    assert state(other, "SELECT shop.p(3)") == "42501"
    assert state(other, "SELECT shop.p(x) FROM (VALUES (1)) v (x)") == "42501"
    assert state(other, "SHOW MODEL shop.m") == "42501"
    assert run(other, "SELECT model FROM gpudb_models WHERE schema = 'shop'") == []
    run(session, "GRANT EXECUTE ON MODEL shop.m TO guest")
    assert value(other, "SELECT shop.p(3) > 2") is True
    run(other, "RESET ROLE; ALTER MODEL shop.m OWNER TO guest; SET ROLE guest")
    assert value(other, "SELECT training_query FROM gpudb_models WHERE schema = 'shop'") is not None
    run(other, "DROP MODEL shop.m")
    other.close()
    run(session, "DROP SCHEMA shop CASCADE; DROP ROLE maker; DROP ROLE guest")


def test_what_training_read_is_for_the_owner(session: Session, database: Database) -> None:
    run(session, "CREATE ROLE clerk; CREATE ROLE stranger; CREATE ROLE deputy; CREATE SCHEMA vault; CREATE TABLE vault.t"
                 " AS SELECT i AS y, 'secret ' || i % 3 AS name FROM generate_series(1, 30) i")  # fmt: skip
    run(session, "CREATE MODEL vault.m FROM vault.t TARGET y FUNCTION p USING xgboost WITH (trees = 1)")
    run(session, "GRANT ALL ON SCHEMA vault TO clerk; ALTER MODEL vault.m OWNER TO clerk; GRANT clerk TO deputy")
    rows = "SELECT features->0->>'categories', training_query, snapshots->>'vault.t'"
    rows += " FROM gpudb_models WHERE schema = 'vault'"
    other = database.session("gpudb")
    ((categories, query, snapshot),) = run(session, rows)
    assert (categories, query) == ('["secret 0", "secret 1", "secret 2"]', "TABLE vault.t")
    run(other, "SET ROLE stranger")
    assert run(other, "SELECT model FROM gpudb_models WHERE schema = 'vault'") == []
    assert ("vault", "m") not in run(other, "SHOW MODEL ALL")
    assert state(other, "SHOW MODEL vault.m") == "42501"
    assert state(other, "SET search_path = vault; SHOW MODEL m") in {"42501", "42704"}
    run(session, "GRANT USAGE ON SCHEMA vault TO stranger")
    assert run(other, rows) == [(None, None, None)]
    assert (
        value(other, "SELECT features FROM gpudb_models WHERE schema = 'vault'") == '[{"name": "name", "type": "text"}]'
    )
    assert "secret" not in str(run(other, "SHOW MODEL vault.m"))
    for role in ("clerk", "deputy"):
        run(other, f"RESET ROLE; SET ROLE {role}")
        assert run(other, rows) == [(categories, query, snapshot)]
    other.close()
    run(session, "DROP SCHEMA vault CASCADE; DROP ROLE clerk, stranger, deputy")


def test_its_bytes_are_nobodys(session: Session, database: Database) -> None:
    run(session, "CREATE MODEL own FROM (SELECT x, y FROM rows) TARGET y FUNCTION po USING xgboost WITH (trees = 2)")
    name = value(session, "SELECT relname FROM pg_class WHERE relname LIKE 'pg_model%' ORDER BY oid DESC LIMIT 1")
    assert (
        value(session, f"SELECT relnamespace::regnamespace::text FROM pg_class WHERE relname = '{name}'") == "pg_toast"
    )
    assert value(session, f"SELECT relkind FROM pg_class WHERE relname = '{name}'") == "t"
    assert value(session, f"SELECT count(*) FROM information_schema.tables WHERE table_name = '{name}'") == 0
    run(session, "CREATE ROLE nosy")
    other = database.session("gpudb")
    run(other, "SET ROLE nosy")
    for sql in ("SELECT * FROM {}", "DELETE FROM {}", "INSERT INTO {} VALUES (0, 'x')", "DROP TABLE {}"):
        assert state(other, sql.format(f"pg_toast.{name}")) in {"42501", "42809", "42P01"}, sql
    other.close()
    assert state(session, f"DROP TABLE pg_toast.{name}") == "3F000"
    run(session, "DROP MODEL own; DROP ROLE nosy")


def test_replacing_while_others_score(session: Session, other: Session) -> None:
    create = "CREATE OR REPLACE MODEL busy FROM (SELECT x, y FROM rows ORDER BY id) TARGET y FUNCTION pb USING xgboost"
    answers = []
    for trees in (1, 2):
        run(session, f"{create} WITH (trees = {trees})")
        answers.append(tuple(column(session, "SELECT pb(x) FROM rows ORDER BY id")))
    found: list[tuple[Any, ...]] = []
    stop = threading.Event()

    def score() -> None:
        while not stop.is_set():
            found.append(tuple(column(other, "SELECT pb(x) FROM rows ORDER BY id")))

    thread = threading.Thread(target=score)
    thread.start()
    for number in range(4):
        run(session, f"{create} WITH (trees = {number % 2 + 1})")
        seen = len(found)
        wait_until(lambda seen=seen: len(found) > seen + 1, "the other session scores")
    stop.set()
    thread.join(60)
    assert set(found) == set(answers)
    run(other, "BEGIN; SELECT 1")
    run(session, f"{create} WITH (trees = 2)")
    run(session, "DROP MODEL busy")
    assert tuple(column(session, "SELECT 1")) == (1,)
    run(other, "ROLLBACK")


def test_one_of_two_that_create_the_same_fails(session: Session, other: Session) -> None:
    create = "CREATE MODEL twice FROM (SELECT x, y FROM rows) TARGET y FUNCTION pt USING xgboost WITH (trees = 2)"
    run(session, "BEGIN")
    run(session, create)
    run(other, create)
    assert state(session, "COMMIT") in {"40001", "42723", "42710"}
    assert value(session, "SELECT count(pt(x)) FROM rows") == ROWS
    run(session, "DROP MODEL twice")


def test_its_bytes_stay_while_a_function_needs_them(session: Session, database: Database) -> None:
    run(session, "CREATE MODEL two FROM (SELECT x, good FROM rows) TARGET good FUNCTION pt USING xgboost"
                 " WITH (trees = 1)")  # fmt: skip
    catalog = database.store.catalog()
    first, second = find_model(catalog, "two", ("public",))
    assert first.model is not None
    catalog = drop_function(catalog, second)
    assert catalog.find_relation_by_oid(first.model.content) is not None
    assert drop_function(catalog, first).find_relation_by_oid(first.model.content) is None
    run(session, "DROP MODEL two")
    assert database.store.catalog().find_relation_by_oid(first.model.content) is None


def test_show_model(session: Session) -> None:
    run(session, "CREATE MODEL shown FROM (SELECT b, place, good FROM rows) TARGET good FUNCTION ps USING xgboost"
                 " WITH (trees = 3)")  # fmt: skip
    assert ("public", "shown") in run(session, "SHOW MODEL ALL")
    rows = run(session, "SHOW MODEL shown")
    shown = dict(rows)
    assert shown["Model Type"] == "xgboost"
    assert shown["Labels"] == "false, true"
    assert shown["Parameter trees"] == "3"
    assert shown["Query"] == "SELECT b, place, good FROM rows"
    assert ("Function Name", "ps") in rows
    features = value(session, "SELECT features->1->>'categories' FROM gpudb_models WHERE model = 'shown'")
    assert features == '["b", "it\'s", "ü"]'
    assert state(session, "SHOW MODEL nothing") == "42704"
    run(session, "DROP MODEL shown")


def test_two_models_of_a_name_with_other_features(session: Session, other: Session) -> None:
    create = "CREATE MODEL alike FROM (SELECT {}, y FROM rows) TARGET y FUNCTION pa USING linear"
    run(session, "BEGIN")
    run(session, create.format("x"))
    run(other, create.format("b, x"))
    assert state(session, "COMMIT") == "40001"
    assert value(session, "SELECT features->0->>'name' FROM gpudb_models WHERE model = 'alike'") == "b"
    run(session, "DROP MODEL alike")


def test_a_cancel_ends_scoring(session: Session, other: Session) -> None:
    run(session, "CREATE MODEL slow FROM (SELECT x, b, y FROM rows) TARGET y FUNCTION pw USING xgboost"
                 " WITH (trees = 200, depth = 8)")  # fmt: skip
    found: list[str] = []
    sql = "SELECT sum(pw(x, g)) FROM rows CROSS JOIN generate_series(1, 200000) g"
    thread = threading.Thread(target=lambda: found.append(state(other, sql)))
    thread.start()
    wait_until(lambda: other.running.active, "the query runs")
    other.cancel()
    thread.join(120)
    assert found == ["57014"]
    assert value(session, "SELECT count(pw(x, b)) FROM rows") == ROWS
    run(session, "DROP MODEL slow")


def test_it_is_called_by_everything_that_calls_functions(session: Session) -> None:
    run(
        session, "CREATE MODEL used FROM (SELECT x, b, y FROM rows) TARGET y FUNCTION pu USING xgboost WITH (trees = 3)"
    )
    expected = value(session, "SELECT pu(0.5, 3)")
    run(session, "CREATE FUNCTION by_plpgsql(x float8) RETURNS float8 LANGUAGE plpgsql AS 'BEGIN RETURN pu(x, 3); END'")
    run(session, "CREATE FUNCTION by_sql(x float8) RETURNS float8 LANGUAGE sql AS 'SELECT pu(x, 3)'")
    assert run(session, "SELECT by_plpgsql(0.5), by_sql(0.5), pu(b => 3, x => 0.5)") == [(expected,) * 3]
    run(session, "PREPARE scores AS SELECT pu($1, b) FROM rows WHERE id = 1")
    assert run(session, "EXECUTE scores(0.5)") == run(session, "SELECT pu(0.5, b) FROM rows WHERE id = 1")
    run(session, "CREATE TABLE target (x float8, b int, score float8)")
    run(session, "INSERT INTO target VALUES (0.5, 3, pu(0.5, 3)), (0.1, 2, NULL)")
    run(session, "UPDATE target SET score = pu(x, b)")
    run(session, "MERGE INTO target USING (SELECT 0.5::float8 AS k) AS s ON target.x = s.k"
                 " WHEN MATCHED THEN UPDATE SET score = pu(target.x, target.b) + 1")  # fmt: skip
    assert value(session, "SELECT score FROM target WHERE x = 0.5") == expected + 1
    run(session, "DELETE FROM target WHERE pu(x, b) IS NOT NULL")
    assert value(session, "SELECT count(*) FROM target") == 0
    few = "(SELECT * FROM rows WHERE id < 20) AS few"
    lateral = f"SELECT s.score FROM {few} CROSS JOIN LATERAL (SELECT pu(x, b) AS score) AS s ORDER BY id"
    assert column(session, lateral) == column(session, f"SELECT pu(x, b) FROM {few} ORDER BY id")
    assert state(session, "SELECT avg(pu(x, b)) OVER () FROM rows GROUP BY x, b") == "0A000"
    assert state(session, "SELECT b FROM rows GROUP BY b HAVING pu(1, b) > 0") == "0A000"
    run(session, "DROP TABLE target; DROP FUNCTION by_plpgsql; DROP FUNCTION by_sql; DROP MODEL used")


def test_infinity_and_what_is_too_great(session: Session) -> None:
    run(session, "CREATE TABLE sizes AS SELECT i::float8 AS size, i AS y FROM generate_series(1, 40) i")
    run(session, "CREATE MODEL sized FROM sizes TARGET y FUNCTION pz USING xgboost WITH (trees = 1)")
    for number, same in (("'infinity'", 40), ("'-infinity'", 1), ("1e300", 40), ("'nan'", "NULL")):
        assert value(session, f"SELECT pz({number})") == value(session, f"SELECT pz({same})")
    run(session, "INSERT INTO sizes SELECT 'infinity', i FROM generate_series(1, 4) i")
    for rest in ("xgboost", "xgboost WITH (validation = 0.9)", "random_forest WITH (trees = 1)", "linear"):
        error = fails(session, f"CREATE MODEL other FROM sizes TARGET y FUNCTION po USING {rest}")
        assert error.sqlstate == "22023", error
        assert "\n" not in f"{error.message}{error.detail}"
    run(session, "DROP TABLE sizes; DROP MODEL sized")


def test_enums_are_features(session: Session) -> None:
    run(session, "CREATE TYPE size AS ENUM ('small', 'great', 'big')")
    sizes = "SELECT i AS id, (enum_range(NULL::size))[i % 3 + 1] AS s, (i % 3 * 10)::float8 AS y"
    run(session, f"CREATE TABLE sized AS {sizes} FROM generate_series(0, 59) i")
    for kind, least in (("xgboost", 9), ("linear", 9)):
        run(session, f"CREATE OR REPLACE MODEL m FROM (SELECT s, y FROM sized) TARGET y FUNCTION ps USING {kind}")
        found = run(session, "SELECT s, avg(ps(s)) FROM sized GROUP BY s ORDER BY s")
        assert [label for label, _ in found] == ["small", "great", "big"]
        assert [score for _, score in found] == pytest.approx([0, 10, 20], abs=10 - least)
    assert state(session, "DROP TYPE size") == "2BP01"
    run(session, "DROP MODEL m; DROP TABLE sized; DROP TYPE size")


def test_nan_is_a_number_wherever_a_linear_model_runs(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    for target, call in (("y", "SELECT pn(x => 'nan') = 'nan'"), ("good", "SELECT pn(x => 'nan')")):
        kind = "linear" if target == "y" else "logistic"
        found = []
        for most in (create_model.MAX_TERMS, 0):
            monkeypatch.setattr(create_model, "MAX_TERMS", most)
            sql = f"CREATE OR REPLACE MODEL m FROM (SELECT x, {target} FROM rows WHERE x IS NOT NULL) TARGET {target}"
            run(session, f"{sql} FUNCTION pn USING {kind}")
            found.append((value(session, call), value(session, "SELECT pn(NULL)")))
            run(session, "DROP MODEL m")
        assert found[0] == found[1] == (True, None)


def test_its_functions_stay_together(session: Session) -> None:
    run(
        session,
        "CREATE MODEL pair FROM (SELECT x, good FROM rows) TARGET good FUNCTION ps USING xgboost WITH (trees = 1)",
    )
    run(session, "CREATE SCHEMA place; CREATE ROLE keeper; GRANT CREATE, USAGE ON SCHEMA place TO keeper")
    owners = "SELECT DISTINCT proowner::regrole::text, pronamespace::regnamespace::text FROM pg_proc WHERE proname LIKE 'ps%'"
    run(session, "ALTER MODEL pair SET SCHEMA place; ALTER MODEL place.pair OWNER TO keeper")
    assert run(session, owners) == [("keeper", "place")]
    for change in ("SET SCHEMA public", "OWNER TO gpudb", "RENAME TO renamed"):
        error = fails(session, f"ALTER FUNCTION place.ps_proba {change}")
        assert (error.sqlstate, error.hint) == ("2BP01", "Use ALTER MODEL pair.")
        assert error.message == "cannot alter function ps_proba(double precision) because model pair requires it"
        assert state(session, f"ALTER ROUTINE place.ps {change}") == "2BP01"
    assert run(session, owners) == [("keeper", "place")]
    run(session, "ALTER MODEL place.pair SET SCHEMA public; ALTER MODEL pair OWNER TO gpudb")
    assert run(session, owners) == [("gpudb", "public")]
    run(session, "CREATE MODEL place.pair FROM (SELECT b, y FROM rows) TARGET y FUNCTION pother USING linear")
    assert state(session, "ALTER MODEL pair SET SCHEMA place") == "42710"
    assert value(session, "SELECT count(ps(x)) FROM rows") == ROWS
    replaced = "CREATE OR REPLACE FUNCTION ps(x float8) RETURNS boolean LANGUAGE sql AS 'SELECT true'"
    error = fails(session, replaced)
    assert (error.sqlstate, error.hint) == ("2BP01", "Use CREATE OR REPLACE MODEL pair.")
    assert value(session, "SELECT count(ps(x)) FROM rows") == ROWS
    run(session, "CREATE VIEW calls AS SELECT ps(x) FROM rows")
    error = fails(session, "DROP MODEL pair")
    assert error.message == "cannot drop model pair because other objects depend on it"
    assert error.detail == "view calls depends on model pair"
    run(session, "REASSIGN OWNED BY keeper TO gpudb; DROP OWNED BY keeper; DROP ROLE keeper")
    run(session, "ALTER SCHEMA place RENAME TO moved")
    assert value(session, "SELECT count(moved.pother(b)) FROM rows") == ROWS
    run(session, "DROP SCHEMA moved CASCADE; DROP MODEL pair CASCADE")
