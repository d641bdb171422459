"""Imports of the libraries that the extra `gpudb-sql[analytics]` installs, where a statement needs them."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from gpudb.errors import FeatureNotSupported, SqlError

_PACKAGES = {"sklearn": "scikit-learn", "torch": "PyTorch"}
_BOOSTING = frozenset({"xgboost", "lightgbm"})


def load_library(name: str) -> Any:
    """Imports a module of a library and returns it; 0A000 with a hint if it is not installed."""
    try:
        with _without_wrappers(name):
            return import_module(name)
    except ImportError as error:
        root = name.partition(".")[0]
        shown = _PACKAGES.get(root, root)
        hint = "Install PyTorch, or export the model as ONNX." if root == "torch" else "Install gpudb-sql[analytics]."
        raise FeatureNotSupported(f"this needs {shown}, which is not installed", detail=str(error), hint=hint) from None


@contextmanager
def _without_wrappers(name: str) -> Iterator[None]:
    """Hides what boosting libraries wrap for their Python users while one is imported: it takes a second."""
    hidden = [each for each in ("sklearn", "pandas") if name in _BOOSTING and each not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]
    try:
        yield
    finally:
        for each in hidden:
            del sys.modules[each]


def make_refusal(purpose: str, error: Exception) -> SqlError:
    """Returns 22023 with the first line of a library's error, without the place in its C++ code."""
    text = re.sub(r"^\[[\d:]+\] \S+: ", "", str(error).strip().partition("\n")[0])
    return SqlError.of("invalid_parameter_value", f"the library refuses to {purpose}", detail=text.strip())
