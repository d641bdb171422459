"""Loads the CUDA sources in kernels/: headers of generated kernels, and kernels that are compiled unchanged."""

from __future__ import annotations

from functools import cache
from pathlib import Path

HEADERS = ("columns.cuh", "values.cuh", "calendar.cuh", "lookup.cuh", "groups.cuh")
TEXT_HEADER = "text.cuh"
"""Header of kernels that read raw text."""
TREES_HEADER = "trees.cuh"
"""Header of kernels that score rows by ensembles of trees."""
EXACT_HEADER = "exact.cuh"
"""Header of kernels that compute quotients, roots and deviations of numerics."""


@cache
def load_headers() -> dict[str, str]:
    """Returns the headers' sources, by name."""
    return {name: read_source(name) for name in (*HEADERS, TEXT_HEADER, TREES_HEADER, EXACT_HEADER)}


def read_source(name: str) -> str:
    """Reads a file of kernels/."""
    package = Path(__file__).parents[4]
    folder = next(each for each in (package / "kernels", package.parent / "kernels") if each.is_dir())
    return (folder / name).read_text()
