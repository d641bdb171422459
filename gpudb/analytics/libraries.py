"""Imports of the libraries that the extra `gpudb[analytics]` installs, where a statement needs them."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

from gpudb.errors import FeatureNotSupported, SqlError

_PACKAGES = {"sklearn": "scikit-learn", "torch": "PyTorch"}


def load_library(name: str) -> Any:
    """Imports a module of a library and returns it; 0A000 with a hint if it is not installed."""
    try:
        return import_module(name)
    except ImportError as error:
        root = name.partition(".")[0]
        shown = _PACKAGES.get(root, root)
        hint = "Install PyTorch, or export the model as ONNX." if root == "torch" else "Install gpudb[analytics]."
        raise FeatureNotSupported(f"this needs {shown}, which is not installed", detail=str(error), hint=hint) from None


def make_refusal(purpose: str, error: Exception) -> SqlError:
    """Returns 22023 with the first line of a library's error, without the place in its C++ code."""
    text = re.sub(r"^\[[\d:]+\] \S+: ", "", str(error).strip().partition("\n")[0])
    return SqlError.of("invalid_parameter_value", f"the library refuses to {purpose}", detail=text.strip())
