"""What a session tells its process of a routine: its text, its parameters, and what it returns."""

from __future__ import annotations

from dataclasses import dataclass

from gpudb.types import SqlType

VECTORS = ("arrow", "numpy", "polars", "torch", "cupy")
"""The forms in which a vectorised function takes columns."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A routine in Python. `name` is None for the block of DO.

    `names` are those of the inputs, empty for one without. `outputs` are the columns of the result; it is a record
    where `is_record`, else one value of the only type. `shape` is value, set, nothing (void), procedure or trigger.
    `vectors` is the form in which it takes columns; empty for a function of single values.
    """

    oid: int
    name: str | None
    body: str
    names: tuple[str, ...] = ()
    types: tuple[SqlType, ...] = ()
    outputs: tuple[tuple[str, SqlType], ...] = ()
    shape: str = "value"
    is_record: bool = False
    zone: str = "UTC"
    vectors: str = ""

    @property
    def context(self) -> str:
        """The line of CONTEXT for its calls."""
        return "PL/Python anonymous code block" if self.name is None else f'PL/Python function "{self.name}"'
