"""Models from files: other programs' models score rows as those programs do, and bad files are refused."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpudb.session.database import Database
from gpudb.session.session import Session
from tests.support.sessions import fails, run, state, value

ROWS = 60
RANDOM = np.random.default_rng(8)
MATRIX = RANDOM.normal(size=(ROWS, 3))
TARGET = MATRIX @ [1.0, -2.0, 0.5] + RANDOM.normal(scale=0.1, size=ROWS)
CLASSES = np.digitize(TARGET, [-1, 1])
SCORE = "SELECT p(a, b, c) FROM rows ORDER BY id"


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    made = Database(None)
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    a, b, c = MATRIX.T
    pq.write_table(pa.table({"id": np.arange(ROWS), "a": a, "b": b, "c": c}), path)
    run(made.session("gpudb"), f"CREATE TABLE rows AS SELECT * FROM '{path}'")
    yield made
    made.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a model"


def bring(session: Session, path: Path, rest: str, arguments: str = "a float8, b float8, c float8") -> None:
    run(session, f"CREATE OR REPLACE MODEL m FROM FILE '{path}' FUNCTION p({arguments}) RETURNS {rest}")


def column(session: Session, sql: str = SCORE) -> list[Any]:
    return [row[0] for row in run(session, sql)]


def write_onnx(path: Path, nodes: list[Any], inputs: list[Any], outputs: list[Any], constants: list[Any]) -> None:
    import onnx

    graph = onnx.helper.make_graph(nodes, "graph", inputs, outputs, constants)
    operators = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("ai.onnx.ml", 3)]
    model = onnx.helper.make_model(graph, opset_imports=operators, ir_version=9)
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString())


def write_layer(path: Path, width: int) -> tuple[Any, Any]:
    """Writes one dense layer, with a softmax as its second output and the greatest as its third."""
    from onnx import TensorProto, helper, numpy_helper

    weight, bias = RANDOM.normal(size=(3, width)).astype(np.float32), RANDOM.normal(size=width).astype(np.float32)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["product"]),
        helper.make_node("Add", ["product", "d"], ["sums"]),
        helper.make_node("Softmax", ["sums"], ["likely"], axis=1),
        helper.make_node("ArgMax", ["sums"], ["best"], axis=1, keepdims=0),
    ]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, width]) for name in ("sums", "likely")]
    outputs.append(helper.make_tensor_value_info("best", TensorProto.INT64, [None]))
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 3])
    constants = [numpy_helper.from_array(weight, "w"), numpy_helper.from_array(bias, "d")]
    write_onnx(path, nodes, [x], outputs, constants)
    return weight, bias


def test_onnx_with_one_value(session: Session, path: Path) -> None:
    weight, bias = write_layer(path, 1)
    bring(session, path, "double precision USING onnx")
    np.testing.assert_allclose(column(session), (MATRIX @ weight + bias)[:, 0], rtol=1e-4, atol=1e-5)
    assert value(session, "SELECT p(NULL, 1, 2)") is None
    assert column(session, "SELECT p(a, nullif(b, b), c) FROM rows LIMIT 2") == [None, None]
    bring(session, path, "real USING onnx", "a real, b real, c int")
    assert value(session, "SELECT p(1, 2, 3)") == pytest.approx((np.array([1, 2, 3]) @ weight + bias)[0], rel=1e-5)


def test_onnx_with_several_outputs(session: Session, path: Path) -> None:
    weight, bias = write_layer(path, 4)
    sums = MATRIX @ weight + bias
    bring(session, path, "double precision[] USING onnx")
    np.testing.assert_allclose(column(session), sums, rtol=1e-4, atol=1e-5)
    bring(session, path, "double precision[] USING onnx WITH (output = 'likely')")
    powers = np.exp(sums)
    np.testing.assert_allclose(column(session), powers / powers.sum(axis=1, keepdims=True), rtol=1e-4, atol=1e-6)
    bring(session, path, "bigint USING onnx WITH (output = 'best')")
    assert column(session) == sums.argmax(axis=1).tolist()
    begin = f"CREATE MODEL n FROM FILE '{path}' FUNCTION q(float8, float8, float8) RETURNS"
    assert state(session, f"{begin} float8 USING onnx") == "22023"
    assert state(session, f"{begin} int USING onnx") == "22023"
    assert state(session, f"{begin} text USING onnx") == "22023"
    assert state(session, f"{begin} int USING onnx WITH (output = 'nothing')") == "22023"
    assert state(session, begin.replace("(float8, ", "(") + " float8[] USING onnx") == "22023"


def test_onnx_with_an_input_for_each_feature(session: Session, path: Path) -> None:
    """Texts too: a label encoder's number, added to the other input."""
    from onnx import TensorProto, helper

    nodes = [
        helper.make_node("LabelEncoder", ["place"], ["code"], domain="ai.onnx.ml", keys_strings=["a", "b"],
                         values_floats=[10.0, 20.0], default_float=-1.0),
        helper.make_node("Add", ["code", "x"], ["sum"]),
    ]  # fmt: skip
    inputs = [helper.make_tensor_value_info("place", TensorProto.STRING, [None, 1]),
              helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 1])]  # fmt: skip
    write_onnx(path, nodes, inputs, [helper.make_tensor_value_info("sum", TensorProto.FLOAT, [None, 1])], [])
    bring(session, path, "float8 USING onnx", "place text, x float8")
    texts = "(VALUES (1, 'a', 0.5), (2, 'b', 1), (3, 'c', 2), (4, NULL, 3)) v (id, place, x)"
    assert column(session, f"SELECT p(place, x) FROM {texts} ORDER BY id") == [10.5, 21.0, 1.0, None]
    assert state(session, f"CREATE MODEL n FROM FILE '{path}' FUNCTION q(int, float8) RETURNS float8 USING onnx") == (
        "42804"
    )


@pytest.mark.parametrize("format", ["json", "ubj"])
def test_xgboost(session: Session, path: Path, format: str) -> None:
    import xgboost

    data = xgboost.DMatrix(MATRIX, TARGET, feature_names=["a", "b", "c"])
    made = xgboost.train({"max_depth": 3}, data, 7)
    path.write_bytes(bytes(made.save_raw(format)))
    bring(session, path, "double precision USING xgboost")
    np.testing.assert_array_equal(column(session), made.predict(data).astype(np.float64))
    missing = xgboost.DMatrix(np.array([[np.nan, 1, 2]]), feature_names=["a", "b", "c"])
    assert value(session, "SELECT p(NULL, 1, 2)") == made.predict(missing)[0]
    begin = f"CREATE MODEL n FROM FILE '{path}' FUNCTION q(float8, float8)"
    assert state(session, f"{begin} RETURNS float8 USING xgboost") == "22023"


def test_classes_of_xgboost(session: Session, path: Path) -> None:
    import xgboost

    data = xgboost.DMatrix(MATRIX, CLASSES)
    made = xgboost.train({"objective": "multi:softprob", "num_class": 3}, data, 4)
    path.write_bytes(bytes(made.save_raw("ubj")))
    wanted = made.predict(data)
    bring(session, path, "float8[] USING xgboost")
    np.testing.assert_array_equal(column(session), wanted.astype(np.float64))
    bring(session, path, "smallint USING xgboost")
    assert column(session) == wanted.argmax(axis=1).tolist()


def test_lightgbm(session: Session, path: Path) -> None:
    import lightgbm

    data = lightgbm.Dataset(MATRIX, CLASSES == 1, params={"verbosity": -1})
    made = lightgbm.train({"objective": "binary", "verbosity": -1, "min_data_in_leaf": 3}, data, 5)
    made.save_model(path)
    bring(session, path, "float8 USING lightgbm")
    wanted = np.asarray(made.predict(MATRIX))
    np.testing.assert_allclose(column(session), wanted, rtol=1e-12)
    bring(session, path, "boolean USING lightgbm")
    assert column(session) == (wanted > 0.5).tolist()


def test_dense_layers_in_safetensors(session: Session, path: Path) -> None:
    from safetensors.numpy import save_file

    first, second = RANDOM.normal(size=(5, 3)).astype(np.float32), RANDOM.normal(size=(1, 5)).astype(np.float32)
    bias = RANDOM.normal(size=5).astype(np.float32)
    save_file({"net.0.weight": first, "net.0.bias": bias, "net.2.weight": second}, path)
    hidden = MATRIX @ first.T + bias
    bring(session, path, "float8 USING safetensors")
    np.testing.assert_allclose(column(session), (np.maximum(hidden, 0) @ second.T)[:, 0], rtol=1e-3, atol=1e-5)
    bring(session, path, "float8 USING safetensors WITH (activation = 'tanh', final = 'sigmoid')")
    wanted = 1 / (1 + np.exp(-(np.tanh(hidden) @ second.T)[:, 0]))
    np.testing.assert_allclose(column(session), wanted, rtol=1e-4)
    begin = f"CREATE MODEL n FROM FILE '{path}' FUNCTION q(float8, float8, float8) RETURNS float8 USING safetensors"
    assert state(session, f"{begin} WITH (activation = 'magic')") == "22023"
    save_file({"0.weight": first, "1.weight": first}, path)
    assert state(session, begin) == "22023"
    save_file({"convolution": np.zeros((2, 2, 2), np.float32)}, path)
    assert state(session, begin) == "0A000"


def test_the_file_may_go(session: Session, path: Path) -> None:
    write_layer(path, 1)
    bring(session, path, "double precision USING onnx")
    before = column(session)
    path.unlink()
    assert column(session) == before
    assert value(session, "SELECT training_query FROM gpudb_models WHERE model = 'm'") == f"FILE '{path}'"
    assert dict(run(session, "SHOW MODEL m"))["Model Type"] == "onnx"


@pytest.mark.parametrize("kind", ["onnx", "xgboost", "lightgbm", "safetensors"])
@pytest.mark.parametrize("content", [b"", b"nonsense" * 50], ids=["empty", "nonsense"])
def test_a_file_that_is_no_model(session: Session, path: Path, kind: str, content: bytes) -> None:
    path.write_bytes(content)
    sql = f"CREATE MODEL n FROM FILE '{path}' FUNCTION q(a float8) RETURNS float8 USING {kind}"
    assert state(session, sql) == "22P03"
    assert column(session, "SELECT model FROM gpudb_models WHERE model = 'n'") == []


@pytest.mark.parametrize(
    ("rest", "code"),
    [
        ("FUNCTION q(a float8) RETURNS float8 USING magic", "22023"),
        ("FUNCTION q(a float8) RETURNS float8 USING xgboost WITH (trees = 3)", "22023"),
        ("FUNCTION q(a float8) USING xgboost", "42601"),
        ("FUNCTION q RETURNS float8 USING xgboost", "42601"),
        ("TARGET y FUNCTION q(a float8) RETURNS float8 USING xgboost", "42601"),
        ("FUNCTION q(a text) RETURNS float8 USING xgboost", "0A000"),
        ("FUNCTION q(a float8) RETURNS date USING xgboost", "0A000"),
        ("FUNCTION q(a nothing) RETURNS float8 USING xgboost", "42704"),
        ("FUNCTION q(a float8, a float8) RETURNS float8 USING xgboost", "42P13"),
        ("FUNCTION q() RETURNS float8 USING xgboost", "42P13"),
        ("FUNCTION q(a float8 DEFAULT 1) RETURNS float8 USING xgboost", "0A000"),
        ("FUNCTION q(a float8) RETURNS float8 USING xgboost", "58P01"),
    ],
)
def test_statements_that_fail(session: Session, rest: str, code: str) -> None:
    assert state(session, f"CREATE MODEL n FROM FILE '/nowhere/at all' {rest}") == code


def test_torchscript(session: Session, path: Path) -> None:
    torch = pytest.importorskip("torch")

    class Sums(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            return torch.stack((x.sum(dim=1), x[:, 0] * 2), dim=1)

    torch.jit.script(Sums()).save(path)
    bring(session, path, "float8[] USING torchscript")
    assert value(session, "SELECT p(1, 2, 3)") == [6, 2]
    assert value(session, "SELECT p(1, NULL, 3)") is None
    bring(session, path, "integer USING torchscript")
    assert column(session, "SELECT p(a, 5, 0) FROM (VALUES (1), (9)) v (a)") == [0, 1]
    for rest, code in (("(a float8) RETURNS float8", "22023"), ("(a float8, b float8) RETURNS text", "22023")):
        assert state(session, f"CREATE MODEL n FROM FILE '{path}' FUNCTION q{rest} USING torchscript") == code
    run(session, "DROP MODEL m")


def test_torchscript_without_pytorch_is_refused(session: Session, path: Path) -> None:
    if find_spec("torch") is not None:
        pytest.skip("PyTorch is installed")
    path.write_bytes(b"a module")
    error = fails(session, f"CREATE MODEL n FROM FILE '{path}' FUNCTION q(a float8) RETURNS float8 USING torchscript")
    assert (error.sqlstate, error.message) == ("0A000", "this needs PyTorch, which is not installed")
    assert error.hint == "Install PyTorch, or export the model as ONNX."


def test_files_need_a_privilege(session: Session, database: Database, path: Path) -> None:
    write_layer(path, 1)
    run(session, "CREATE ROLE reader; GRANT CREATE ON SCHEMA public TO reader")
    other = database.session("gpudb")
    run(other, "SET ROLE reader")
    sql = f"CREATE MODEL mine FROM FILE '{path}' FUNCTION pm(float8, float8, float8) RETURNS float8 USING onnx"
    assert fails(other, sql).sqlstate == "42501"
    run(session, "GRANT pg_read_server_files TO reader")
    run(other, sql)
    assert value(other, "SELECT pm(1, 2, 3)") is not None
    run(other, "DROP MODEL mine")
    other.close()
    run(session, "DROP OWNED BY reader; DROP ROLE reader")


def write_identity(path: Path, given: str, found: str, shape: tuple[Any, ...] = (None,)) -> None:
    """Writes a model that casts its only input."""
    from onnx import TensorProto, helper

    node = helper.make_node("Cast", ["x"], ["y"], to=getattr(TensorProto, found))
    x = helper.make_tensor_value_info("x", getattr(TensorProto, given), shape)
    write_onnx(path, [node], [x], [helper.make_tensor_value_info("y", getattr(TensorProto, found), shape)], [])


@pytest.mark.parametrize("shape", [(None,), (None, 1)])
def test_integers_in_onnx_are_exact(session: Session, path: Path, shape: tuple[Any, ...]) -> None:
    write_identity(path, "INT64", "INT64", shape)
    bring(session, path, "bigint USING onnx", "a bigint")
    numbers = [2**53 + 1, -(2**63), 2**63 - 1, 0, -1]
    shown = ", ".join(f"('{number}'::bigint)" for number in numbers)
    assert sorted(column(session, f"SELECT p(a) FROM (VALUES {shown}) v (a)")) == sorted(numbers)
    bring(session, path, "bigint USING onnx", "a float8")
    assert value(session, "SELECT p(-5)") == -5
    for number in ("'infinity'", "'nan'", "9223372036854775808"):
        assert state(session, f"SELECT p({number}::float8)") == "22003"


def test_classes_that_are_too_great(session: Session, path: Path) -> None:
    write_identity(path, "INT64", "INT64")
    for name, shown, most in (("int", "integer", 2**31), ("smallint", "smallint", 2**15)):
        bring(session, path, f"{name} USING onnx", "a bigint")
        assert value(session, f"SELECT p({most - 1})") == most - 1
        error = fails(session, f"SELECT p({most})")
        assert (error.sqlstate, error.message) == ("22003", f"{shown} out of range")
    write_identity(path, "INT32", "INT32")
    bring(session, path, "bigint USING onnx", "a bigint")
    assert value(session, "SELECT p(2147483647)") == 2147483647
    assert state(session, "SELECT p(2147483648)") == "22003"
    write_identity(path, "INT64", "UINT64")
    bring(session, path, "bigint USING onnx", "a bigint")
    assert state(session, "SELECT p(-1)") == "22003"
    run(session, "DROP MODEL m")
