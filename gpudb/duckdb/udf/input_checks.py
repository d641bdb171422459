"""Validation of input text: whether it is a value of a type, and which error it raises."""

from __future__ import annotations

from gpudb.duckdb.udf.registry import FunctionRegistry
from gpudb.duckdb.udf.styles import in_style
from gpudb.errors import FeatureNotSupported, GpudbError
from gpudb.types import SqlType
from gpudb.values.text import parse_text


def register(registry: FunctionRegistry) -> None:
    """Registers the function."""
    registry.add_scalar("pg_input_error", "VARCHAR VARCHAR VARCHAR VARCHAR", "VARCHAR[]", in_style(_input_error))


def _input_error(text: str, name: str, zone: str) -> list[str | None] | None:
    """Returns message, detail, hint and SQLSTATE of the error of parsing `text` as a type; None if it is valid."""
    try:
        parse_text(SqlType(name), text, zone)
    except FeatureNotSupported:
        raise
    except GpudbError as error:
        return [error.message, error.detail, error.hint, error.sqlstate]
    return None
