"""What plpy.execute returns: rows as dicts, with the names and types of their columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpudb.plpython.errors import Error
from gpudb.types import SqlType


class PLyResult:
    """The result of a statement, a list of rows that a body may change."""

    def __init__(
        self, status: int, count: int, columns: tuple[tuple[str, SqlType], ...] | None, rows: list[dict[str, Any]]
    ) -> None:
        self._status, self._count, self._columns, self._rows = status, count, columns, rows

    def status(self) -> int:
        """Returns PostgreSQL's SPI code."""
        return self._status

    def nrows(self) -> int:
        """Returns the number of rows that the statement returned or changed."""
        return self._count

    def colnames(self) -> list[str]:
        """Returns the names of the columns."""
        return [name for name, _ in self._need_columns()]

    def coltypes(self) -> list[int]:
        """Returns the OIDs of the columns' types."""
        return [item.oid for _, item in self._need_columns()]

    def coltypmods(self) -> list[int]:
        """Returns the modifiers of the columns' types."""
        return [item.typmod for _, item in self._need_columns()]

    def _need_columns(self) -> tuple[tuple[str, SqlType], ...]:
        if self._columns is None:
            raise Error("command did not produce a result set")
        return self._columns

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._rows)

    def __getitem__(self, place: Any) -> Any:
        return self._rows[place]

    def __setitem__(self, place: Any, row: Any) -> None:
        self._rows[place] = row

    def __delitem__(self, place: Any) -> None:
        del self._rows[place]

    def __str__(self) -> str:
        return f"<PLyResult status={self._status} nrows={self._count} rows={self._rows}>"
