"""Values of Python and names of columns as SQL."""

from __future__ import annotations

import math
from collections.abc import Iterable

from gpudb.api.names import quote_identifier
from gpudb.functions.text_literal import quote_literal

INPUT = "i"
"""The alias of a step's input within its query."""


def format_value(value: object, type_: str) -> str:
    """Returns a constant of an SQL type, with every digit of a float; None is NULL."""
    if value is None:
        return f"NULL::{type_}"
    if isinstance(value, float):
        return f"{quote_literal(_format_float(value))}::{type_}"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{quote_literal(str(value))}::{type_}"


def format_float(value: float) -> str:
    """Returns a constant of double precision with every digit of the value."""
    return format_value(float(value), "float8")


def _format_float(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return repr(value) if math.isfinite(value) else "Infinity" if value > 0 else "-Infinity"


def refer(name: str, alias: str = INPUT) -> str:
    """Returns a reference to a column of a step's input, or of a table joined to it."""
    return f"{alias}.{quote_identifier(name)}"


def list_names(names: Iterable[str]) -> str:
    """Returns names as a list of quoted identifiers."""
    return ", ".join(quote_identifier(name) for name in names)
