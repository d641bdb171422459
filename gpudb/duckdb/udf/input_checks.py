"""Whether texts are values of a type, and what is wrong with them if not."""

from __future__ import annotations

from gpudb.duckdb.udf.registry import Registry
from gpudb.errors import FeatureNotSupported, GpudbError
from gpudb.types import SqlType
from gpudb.values.text import parse_text


def register(registry: Registry) -> None:
    """Adds the function."""
    registry.scalar("pg_input_error", "VARCHAR VARCHAR VARCHAR", "VARCHAR[]", _error)


def _error(text: str, name: str, zone: str) -> list[str | None] | None:
    """Message, detail, hint and SQLSTATE of what reading `text` as a type raises; None where it is a value."""
    try:
        parse_text(SqlType(name), text, zone)
    except FeatureNotSupported:
        raise
    except GpudbError as error:
        return [error.message, error.detail, error.hint, error.sqlstate]
    return None
