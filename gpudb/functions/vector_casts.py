"""Casts of vectors, of those of half precision, and of sparse ones; to each other, and from and to arrays."""

from __future__ import annotations

from gpudb.errors import SqlError
from gpudb.functions.let_binding import bind_values, render_error
from gpudb.types import SqlType
from gpudb.types.facts import STRINGS

VECTOR_TYPES = frozenset({"vector", "halfvec", "sparsevec"})
_ARRAYS = frozenset({"_int4", "_float4", "_float8", "_numeric"})
"""The arrays that are cast to vectors."""
_CASTS = {
    ("vector", "_float4"): "{0}",
    ("vector", "halfvec"): "pg_halfvec_from_float4({0})",
    ("vector", "sparsevec"): "pg_sparsevec_from_vector({0})",
    ("halfvec", "_float4"): "pg_halfvec_to_vector({0})",
    ("halfvec", "vector"): "pg_halfvec_to_vector({0})",
    ("halfvec", "sparsevec"): "pg_sparsevec_from_vector(pg_halfvec_to_vector({0}))",
    ("sparsevec", "vector"): "pg_sparsevec_to_vector({0})",
    ("sparsevec", "halfvec"): "pg_sparsevec_to_halfvec({0})",
}
_DIMENSIONS = {
    "vector": "len({0})",
    "halfvec": "(octet_length({0}) // 2)",
    "sparsevec": "pg_sparsevec_dims({0})",
}


def convert_vector(sql: str, source: SqlType, target: SqlType) -> str | None:
    """Converts a value to or from a vector; None for other types, and for pairs of types without such a cast.

    22000 for another number of dimensions than the target's.
    """
    if target.name not in VECTOR_TYPES:
        made = _CASTS.get((source.name, target.name))
        return None if made is None else made.format(sql)
    if source.name == target.name:
        return _fit(sql, target) if target.modifier not in (-1, source.modifier) else sql
    if source.name in STRINGS:
        return f"pg_{target.name}_in({sql}, {target.modifier})"
    if (made := _CASTS.get((source.name, target.name))) is not None:
        fits = target.modifier in (-1, source.modifier)
        return made.format(sql) if fits else _fit(made.format(sql), target)
    if source.name in _ARRAYS:
        if source.dims > 1:
            raise SqlError.of("data_exception", "array must be 1-D")
        made = _from_array(sql, source, target)
        return made if target.modifier == -1 else _fit(made, target)
    return None


def _from_array(sql: str, source: SqlType, target: SqlType) -> str:
    """Converts an array, of which numerics may carry their display scales."""
    if source.name == "_float4" and target.name != "sparsevec":
        return f"pg_{target.name}_from_float4({sql})"
    if source.element is not None and source.element.is_carried:
        sql = f"list_transform({sql}, lambda pg_e: pg_e.v)"
    return f"pg_{target.name}_from_float8(CAST({sql} AS DOUBLE[]))"


def _fit(sql: str, target: SqlType) -> str:
    """Checks the dimensions of a value of a type."""
    count = _DIMENSIONS[target.name]
    message = f"'expected {target.modifier} dimensions, not ' || {count}"
    return bind_values(
        lambda v: (
            f"(CASE WHEN {count.format(v)} <> {target.modifier}"
            f" THEN {render_error('22000', message.format(v), target.duckdb)} ELSE {v} END)"
        ),
        sql,
    )
