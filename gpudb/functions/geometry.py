"""Geometric functions, operators and casts, over BLOB, computed by `gpudb.duckdb.udf.geometry`."""

from __future__ import annotations

from gpudb.functions.registry import declare
from gpudb.types import SqlType
from gpudb.types.facts import GEOMETRIC, STRINGS
from gpudb.values.geometry.signatures import SIGNATURES, name_function


def _declare(signature: str, count: int) -> None:
    operands = ", ".join(f"{{{place}}}" for place in range(count))
    declare(signature, f"{name_function(signature)}({operands})")


for _signature, _types in SIGNATURES.items():
    _declare(_signature, len(_types) - 1)
# Their binary form is what stands for them.
declare("point_send line_send lseg_send box_send path_send poly_send circle_send", "{0}")


def to_geometry(sql: str, source: SqlType, target: SqlType) -> str | None:
    """Returns a geometric value of its text or of another one; None for other types."""
    if source.name in STRINGS:
        return f"pg_geo_in_{target.name}({sql})"
    if source.name == target.name:
        return sql
    signature = f"{target.name}({source.name})"
    if source.name in GEOMETRIC and signature in SIGNATURES:
        return f"{name_function(signature)}({sql})"
    return None
