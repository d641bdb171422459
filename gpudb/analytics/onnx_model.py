"""Models in ONNX, which ONNX Runtime computes: columns of features in, one of the model's outputs out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gpudb.analytics.devices import GPU
from gpudb.analytics.encoding import to_numbers
from gpudb.analytics.libraries import load_library, make_refusal
from gpudb.errors import FeatureNotSupported, SqlError

_TYPES = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
}
_STRING = "tensor(string)"


class OnnxModel:
    """A model that has one input of rows by features, or an input for each feature."""

    def __init__(self, content: bytes) -> None:
        library = load_library("onnxruntime")
        options = library.SessionOptions()
        options.log_severity_level = 4
        self._session = library.InferenceSession(content, options, providers=_list_providers(library))
        self._inputs = self._session.get_inputs()
        self._outputs = {each.name: each.type for each in self._session.get_outputs()}

    @property
    def providers(self) -> list[str]:
        """What computes, the first choice first, as ONNX Runtime names it."""
        return list(self._session.get_providers())

    def compute(self, columns: Sequence[pa.Array], output: str) -> npt.NDArray[Any]:
        """Returns an output ('' for the first) for rows without NULL; 22023 if the features are not the inputs."""
        name = output or next(iter(self._outputs))
        if name not in self._outputs:
            hint = f"It has {', '.join(self._outputs)}."
            raise SqlError.of("invalid_parameter_value", f'the model has no output "{name}"', hint=hint)
        if not self._outputs[name].startswith("tensor("):
            hint = "Export the model without ZipMap, so that probabilities are a tensor."
            raise FeatureNotSupported(f'output "{name}" of type {self._outputs[name]} is not supported', hint=hint)
        given = self._feed(columns)
        try:
            (found,) = self._session.run([name], given)
        except Exception as error:  # its errors have no other base
            raise make_refusal("score these rows", error) from None
        return np.asarray(found)

    def _feed(self, columns: Sequence[pa.Array]) -> dict[str, npt.NDArray[Any]]:
        if len(self._inputs) == 1 and (len(columns) > 1 or len(self._inputs[0].shape) > 1):
            each = self._inputs[0]
            self._check_width(each.shape[-1] if len(each.shape) > 1 else 1, len(columns))
            if each.type == _STRING:
                return {each.name: np.column_stack([_to_strings(column) for column in columns])}
            item = _find_type(each)
            return {each.name: np.column_stack([_to_numbers(column, item) for column in columns])}
        self._check_width(len(self._inputs), len(columns))
        fed = {}
        for each, column in zip(self._inputs, columns, strict=True):
            if each.type == _STRING:
                values = _to_strings(column)
            else:
                values = _to_numbers(column, _find_type(each))
            fed[each.name] = values[:, None] if len(each.shape) > 1 else values
        return fed

    def _check_width(self, wanted: object, given: int) -> None:
        if isinstance(wanted, int) and wanted != given:
            message = f"the model has {wanted} features, but its function has {given} arguments"
            raise SqlError.of("invalid_parameter_value", message)


def _list_providers(library: Any) -> list[Any]:
    """Returns what computes: the GPU where there is one, if the library was built for it, and the CPU for the rest."""
    providers: list[Any] = ["CPUExecutionProvider"]
    if GPU.exists() and "CUDAExecutionProvider" in library.get_available_providers():
        # It takes what it needs, not a power of two
        providers.insert(0, ("CUDAExecutionProvider", {"arena_extend_strategy": "kSameAsRequested"}))
    return providers


def _find_type(given: Any) -> Any:
    if given.type not in _TYPES:
        raise FeatureNotSupported(f'input "{given.name}" of type {given.type} is not supported')
    return _TYPES[given.type]


def _to_numbers(column: pa.Array, item: Any) -> npt.NDArray[Any]:
    """Returns numbers without NULL as an input's type, integers as they are; 22003 for those that it does not hold."""
    kind = np.dtype(item).kind
    whole = pa.types.is_integer(column.type) and kind == "i"
    numbers = column.to_numpy(zero_copy_only=False) if whole else to_numbers(column)
    if kind == "i" and len(numbers):
        least, most = np.iinfo(item).min, np.iinfo(item).max
        # The greatest bigint is no double: the next one above is out of range
        fits = (numbers >= least) & ((numbers <= most) if whole else (numbers < float(most) + 1))
        if not fits.all():
            raise SqlError.of("numeric_value_out_of_range", "a feature is out of range for the model's input")
    return numbers.astype(item)


def _to_strings(column: pa.Array) -> npt.NDArray[Any]:
    if not pa.types.is_string(column.type):
        raise SqlError.of("datatype_mismatch", "the model has a feature of texts whose argument is none")
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=object)
