"""Dense layers from a safetensors file: `N.weight` and `N.bias`, as PyTorch names those of a Sequential."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from gpudb.analytics.encoding import Matrix
from gpudb.analytics.libraries import load_library
from gpudb.errors import FeatureNotSupported, SqlError

_LAYER = re.compile(r"(?:.*\.)?(\d+)\.(weight|bias)|(weight|bias)")
Numbers = npt.NDArray[np.floating[Any]]


def _softmax(values: Numbers) -> Numbers:
    powers = np.exp(values - values.max(axis=1, keepdims=True))
    result: Numbers = powers / powers.sum(axis=1, keepdims=True)
    return result


def _sigmoid(values: Numbers) -> Numbers:
    result: Numbers = 1 / (1 + np.exp(-np.clip(values, -80, 80)))
    return result


ACTIVATIONS: Mapping[str, Callable[[Numbers], Numbers]] = {
    "none": lambda values: values,
    "relu": lambda values: np.maximum(values, 0),
    "tanh": np.tanh,
    "sigmoid": _sigmoid,
    "softmax": _softmax,
}
"""What may follow a layer. Softmax may follow the last one only."""


class DenseModel:
    """Layers of products and sums, with an activation between them and a final one."""

    def __init__(self, content: bytes, activation: str, final: str) -> None:
        tensors = load_library("safetensors.numpy").load(content)
        layers: dict[int, dict[str, Numbers]] = {}
        for name, tensor in tensors.items():
            match = _LAYER.fullmatch(name)
            if match is None or tensor.ndim != (2 if name.endswith("weight") else 1):
                hint = "Export other models as ONNX."
                message = f'tensor "{name}" of shape {list(tensor.shape)} is no part of a dense layer'
                raise FeatureNotSupported(message, hint=hint)
            layers.setdefault(int(match[1] or 0), {})[match[2] or match[3]] = tensor.astype(np.float32)
        self._layers = [layers[number] for number in sorted(layers)]
        self._activation, self._final = ACTIVATIONS[activation], ACTIVATIONS[final]
        self._check()

    @property
    def width(self) -> int:
        """The number of features."""
        return int(self._layers[0]["weight"].shape[1])

    def _check(self) -> None:
        before: int | None = None
        for layer in self._layers:
            weight, bias = layer.get("weight"), layer.get("bias")
            fits = weight is not None and before in (None, weight.shape[1])
            if weight is None or not fits or (bias is not None and len(bias) != len(weight)):
                raise SqlError.of("invalid_parameter_value", "the layers of the file do not fit to each other")
            before = len(weight)
        if before is None:
            raise SqlError.of("invalid_parameter_value", "the file has no layer")

    def score(self, matrix: Matrix) -> Numbers:
        """Returns what the last layer gives, in single precision; a single column is returned flat."""
        values: Numbers = matrix.astype(np.float32)
        for number, layer in enumerate(self._layers, 1):
            values = values @ layer["weight"].T + layer.get("bias", np.float32(0))
            values = (self._final if number == len(self._layers) else self._activation)(values)
        return values[:, 0] if values.shape[1] == 1 else values


def open_dense(content: bytes) -> DenseModel:
    """Opens what `pack_dense` made."""
    head, _, tensors = content.partition(b"\n")
    options = json.loads(head)
    return DenseModel(tensors, options["activation"], options["final"])


def pack_dense(content: bytes, activation: str, final: str) -> bytes:
    """Returns a safetensors file with the activations that it lacks."""
    return json.dumps({"activation": activation, "final": final}).encode() + b"\n" + content
