"""Input functions of range and multirange types."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from gpudb.duckdb.udf.registry import FunctionRegistry
from gpudb.duckdb.udf.styles import over_style
from gpudb.types import SqlType
from gpudb.types.facts import MULTIRANGE_RANGES, RANGE_SUBTYPES
from gpudb.values.arrow_columns import check_representable, to_arrow_array
from gpudb.values.text import parse_text


def register(registry: FunctionRegistry) -> None:
    """Registers an input function for each type; each takes a text, the session's TimeZone and its style."""
    for name in (*RANGE_SUBTYPES, *MULTIRANGE_RANGES):
        item = SqlType(name)
        registry.add_columnar(
            f"pg_{name}_in", "VARCHAR VARCHAR VARCHAR", item.duckdb, over_style(_input_function(item))
        )


def _input_function(item: SqlType) -> Callable[[pa.Array, pa.Array], pa.Array]:
    def read(texts: pa.Array, zones: pa.Array) -> pa.Array:
        values = []
        for text, zone in zip(texts.to_pylist(), zones.to_pylist()):
            value = None if text is None else parse_text(item, text, zone)
            check_representable(item, value)
            values.append(value)
        return to_arrow_array(item, values)

    return read
