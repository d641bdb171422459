"""Casts between matrices, their text, and arrays of numbers, as DuckDB SQL."""

from __future__ import annotations

from gpudb.errors import FeatureNotSupported
from gpudb.types import SqlType
from gpudb.types.facts import STRINGS

ELEMENTS = frozenset({"int4", "int8", "float4", "float8"})
"""Types of a matrix's elements."""


def to_matrix(sql: str, source: SqlType) -> str | None:
    """Returns a matrix of its text or of an array of one or two dimensions; None for other types."""
    if source.name in STRINGS:
        return f"pg_matrix_in({sql})"
    if source.name == "matrix":
        return sql
    if source.element is None or source.element.name not in ELEMENTS:
        return None
    if source.dims > 2:
        raise FeatureNotSupported(f"a matrix of an array of {source.dims} dimensions is not supported")
    return f"pg_matrix_of_lists({sql})"


def from_matrix(sql: str, target: SqlType) -> str | None:
    """Returns a matrix as an array of two dimensions; None for other types than arrays of elements."""
    if target.element is None or target.element.name not in ELEMENTS:
        return None
    if target.dims != 2:
        raise FeatureNotSupported(f"a matrix as an array of {target.dims} dimensions is not supported")
    return f"pg_matrix_to_{target.element.name}({sql})"
