"""Models from files on a GPU: TorchScript by PyTorch, ONNX by ONNX Runtime, each beside the processor's answers.

They need the wheels torch (built for CUDA), and onnxruntime-gpu with onnx; a test skips without its wheel.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from gpudb.analytics.onnx_model import OnnxModel
from gpudb.analytics.torchscript_model import TorchScriptModel

pytestmark = pytest.mark.gpu
ROWS, FEATURES = 150_000, 12  # more rows than are on the device at once


def make_features() -> np.ndarray:
    return np.random.default_rng(5).standard_normal((ROWS, FEATURES))


def make_layers() -> list[tuple[np.ndarray, np.ndarray]]:
    draw = np.random.default_rng(6)
    shapes = [(FEATURES, 32), (32, 3)]
    return [
        (draw.standard_normal(shape).astype(np.float32), draw.standard_normal(shape[1]).astype(np.float32))
        for shape in shapes
    ]


def compute(rows: np.ndarray, layers: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """The outputs of dense layers with ReLU between them, in double precision."""
    hidden = np.maximum(rows @ layers[0][0].astype(float) + layers[0][1], 0)
    return np.asarray(hidden @ layers[1][0].astype(float) + layers[1][1])


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")  # it is what the format is written by
def test_torchscript_is_computed_on_the_gpu() -> None:
    torch: Any = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch is not built for CUDA")
    layers = make_layers()
    module = torch.nn.Sequential(torch.nn.Linear(FEATURES, 32), torch.nn.ReLU(), torch.nn.Linear(32, 3))
    with torch.no_grad():
        for layer, (weight, bias) in zip((module[0], module[2]), layers, strict=True):
            layer.weight.copy_(torch.from_numpy(weight.T.copy()))
            layer.bias.copy_(torch.from_numpy(bias))
    content = io.BytesIO()
    torch.jit.save(torch.jit.script(module), content)
    rows = make_features()
    before = torch.cuda.max_memory_allocated()
    model = TorchScriptModel(content.getvalue())
    found = model.score(rows)
    assert torch.cuda.max_memory_allocated() > before
    np.testing.assert_allclose(found, compute(rows, layers), rtol=1e-2, atol=1e-2)
    assert model.score(rows[:0]).shape == (0, 3)


def test_onnx_is_computed_on_the_gpu() -> None:
    runtime: Any = pytest.importorskip("onnxruntime")
    onnx: Any = pytest.importorskip("onnx")
    if "CUDAExecutionProvider" not in runtime.get_available_providers():
        pytest.skip("onnxruntime is not built for CUDA: onnxruntime-gpu is")
    layers = make_layers()
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    constants = [
        onnx.numpy_helper.from_array(each, f"{name}{number}")
        for number, pair in enumerate(layers)
        for name, each in zip("wb", pair, strict=True)
    ]
    nodes = [
        helper.make_node("Gemm", ["x", "w0", "b0"], ["a"]),
        helper.make_node("Relu", ["a"], ["h"]),
        helper.make_node("Gemm", ["h", "w1", "b1"], ["y"]),
    ]
    x = helper.make_tensor_value_info("x", kind, [None, FEATURES])
    y = helper.make_tensor_value_info("y", kind, [None, 3])
    graph = helper.make_graph(nodes, "graph", [x], [y], constants)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    model = OnnxModel(made.SerializeToString())
    assert model.providers[0] == "CUDAExecutionProvider"
    rows = make_features()
    found = model.compute([pa.array(column) for column in rows.T], "")
    np.testing.assert_allclose(found, compute(rows, layers), rtol=1e-2, atol=1e-2)
