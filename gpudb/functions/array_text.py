"""Texts of arrays whose dimensions only the value tells: an internal function, which no statement can name."""

from __future__ import annotations

from gpudb.functions.library import Function
from gpudb.functions.registry import declare
from gpudb.types import INT4, TEXT

WITH_DIMENSIONS = Function(0, "array-text", (TEXT, INT4), TEXT)
"""Returns an array's text if the array has so many dimensions, else NULL. 22P02 for text of no array."""

declare(WITH_DIMENSIONS.name, "pg_array_with_dims({0}, {1})")
