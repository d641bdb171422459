"""The part of a relation that charts use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from gpudb.session.results import ResultColumn

if TYPE_CHECKING:
    import polars as pl

    from gpudb.api.rows import Rows


class Plotted(Protocol):
    """See `gpudb.api.relation.Relation`."""

    @property
    def query(self) -> str:
        """The SQL text."""

    def head(self, rows: int = 10) -> Rows:
        """Returns the first rows."""

    def polars(self) -> pl.DataFrame:
        """Returns all rows."""

    def fetchone(self) -> tuple[object, ...] | None:
        """Returns the first row."""

    @property
    def fields(self) -> tuple[ResultColumn, ...]:
        """Returns the columns."""

    def _wrap(self, clause: str, columns: str = "*") -> Plotted:
        """Returns a query around this one."""


def get_fields(relation: Plotted) -> Mapping[str, ResultColumn]:
    """Returns the columns by name."""
    return {field.name: field for field in relation.fields}
