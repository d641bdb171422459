"""The CUDA sources in kernels/: headers that generated kernels include, and kernels that are compiled as they are."""

from __future__ import annotations

from functools import cache
from pathlib import Path

HEADERS = ("columns.cuh", "values.cuh", "calendar.cuh", "lookup.cuh", "groups.cuh")
TEXT = "text.cuh"
"""The header of kernels that read texts as they are."""


@cache
def headers() -> dict[str, str]:
    """The building blocks' sources, by name."""
    return {name: building_block(name) for name in (*HEADERS, TEXT)}


def building_block(name: str) -> str:
    """A file of kernels/."""
    package = Path(__file__).parents[4]
    folder = next(each for each in (package / "kernels", package.parent / "kernels") if each.is_dir())
    return (folder / name).read_text()
