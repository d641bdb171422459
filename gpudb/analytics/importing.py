"""Models from files, which a child process tries before they are kept: can it be read, and does its function fit?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from gpudb.analytics.dense_model import ACTIVATIONS, DenseModel, pack_dense
from gpudb.analytics.formats import open_content
from gpudb.analytics.libraries import load_library
from gpudb.analytics.scoring import Scoring, compute
from gpudb.errors import SqlError

KINDS = ("onnx", "torchscript", "xgboost", "lightgbm", "safetensors")
"""The kinds of models that a file may have."""
_OPTIONS = {"onnx": {"output"}, "safetensors": {"activation", "final"}}
_LIBRARIES = {"onnx": "onnxruntime", "torchscript": "torch"}


@dataclass(frozen=True, slots=True)
class Imported:
    """A model that can be kept: its bytes in the format of the same name as its kind, and its library."""

    content: bytes
    library: str


def check_import(kind: str, options: Mapping[str, str]) -> None:
    """22023 for an unknown kind or parameter."""
    if kind not in KINDS:
        hint = f"Models from files are of kind {', '.join(KINDS)}."
        raise SqlError.of("invalid_parameter_value", f'unrecognized kind of model "{kind}" from a file', hint=hint)
    known = _OPTIONS.get(kind, set())
    for name, text in options.items():
        if name not in known:
            message = f'unrecognized parameter "{name}" of {kind} from a file'
            names = f"Parameters are {', '.join(sorted(known))}." if known else None
            raise SqlError.of("invalid_parameter_value", message, hint=names)
        if name in {"activation", "final"} and (text not in ACTIVATIONS or (name, text) == ("activation", "softmax")):
            raise SqlError.of("invalid_parameter_value", f'unrecognized {name} "{text}"')


def import_model(
    kind: str,
    content: bytes,
    options: Mapping[str, str],
    scoring: Scoring,
    row: list[pa.Array],
) -> Imported:
    """Reads a model and scores a row with it.

    22P03 for a file that is none, 22023 if the row or the result does not fit.
    """
    library = load_library(_LIBRARIES.get(kind, kind))
    width: object = None
    try:
        if kind == "safetensors":
            activation, final = options.get("activation", "relu"), options.get("final", "none")
            width = DenseModel(content, activation, final).width
            content = pack_dense(content, activation, final)
        model = open_content(kind, content)
    except SqlError as error:
        if error.sqlstate != "XX001":
            raise
        raise SqlError.of("invalid_binary_representation", error.message, detail=error.detail) from None
    except Exception as error:
        message = f"the file is no model that {kind} can read"
        raise SqlError.of("invalid_binary_representation", message, detail=str(error)) from None
    width = getattr(model, "width", width)
    if width is not None and width != len(row):
        message = f"the model has {width} features, but its function has {len(row)} arguments"
        raise SqlError.of("invalid_parameter_value", message)
    compute(model, scoring, row)
    return Imported(content, f"{kind} {library.__version__}")


def make_row(types: list[pa.DataType]) -> list[pa.Array]:
    """Returns columns of types with one row: zeros, and empty texts."""
    return [pa.array([""]) if pa.types.is_string(each) else pa.array(np.zeros(1)).cast(each) for each in types]
