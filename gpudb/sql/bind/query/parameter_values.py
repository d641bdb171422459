"""Values of parameters on which a statement's binding depends, such as the names of files and the share of a sample."""

from __future__ import annotations

from typing import Any

from gpudb.errors import FeatureNotSupported
from gpudb.sql.bind.base import Binder
from gpudb.types import SqlType
from gpudb.values.text import parse_text


class ValuesNeeded(FeatureNotSupported):
    """0A000: a statement can be bound once its parameters have values."""


def read_parameter(binder: Binder, number: int, type: SqlType, what: str) -> Any:
    """Returns a parameter's value, of a type if the client has declared none.

    ValuesNeeded, which `what` begins the message of, if it has none yet; 42P02 if there is no such parameter.
    """
    parameter = binder.get_parameter(number)
    declared = parameter.type.name != "unknown"
    if not declared:
        binder.infer_parameter(parameter, type)
    if number > len(binder.values):
        raise ValuesNeeded(f"{what} no values yet")
    binder.cacheable = False
    value = binder.values[number - 1]
    # Its type was not known when it was read
    return parse_text(type, value) if type.name != "text" and isinstance(value, str) else value
