"""Imports of the libraries that the extra `gpudb[analytics]` installs, where a statement needs them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from gpudb.errors import FeatureNotSupported

_PACKAGES = {"sklearn": "scikit-learn", "torch": "PyTorch"}


def load_library(name: str) -> Any:
    """Imports a module of a library and returns it; 0A000 with a hint if it is not installed."""
    try:
        return import_module(name)
    except ImportError as error:
        root = name.partition(".")[0]
        shown = _PACKAGES.get(root, root)
        hint = "Install PyTorch." if root == "torch" else "Install gpudb[analytics]."
        raise FeatureNotSupported(f"this needs {shown}, which is not installed", detail=str(error), hint=hint) from None
