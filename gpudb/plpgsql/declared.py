"""What a routine declares about its body: its name, its parameters, and what it returns."""

from __future__ import annotations

from dataclasses import dataclass

from gpudb.types import SqlType


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a body: `is_input` has a value at the call."""

    name: str
    type: SqlType
    is_input: bool = True


@dataclass(frozen=True, slots=True)
class Declared:
    """What a routine declares: its name, and whether it returns a set, nothing, or the OUT parameters' values.

    `implicit` are the names and types of variables that a trigger's body has beside its own; None is a record.
    """

    name: str
    parameters: tuple[Parameter, ...] = ()
    implicit: tuple[tuple[str, SqlType | None], ...] = ()
    returns_set: bool = False
    returns_nothing: bool = False
    has_outputs: bool = False
    is_procedure: bool = False
    is_block: bool = False
