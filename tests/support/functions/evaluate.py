"""Runs a query on the embedded engine, without session or server, and returns the client's view of the result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from gpudb.catalog.model import make_initial_catalog
from gpudb.engine.cpu.engine import CpuEngine
from gpudb.engine.protocol import Request, Settings
from gpudb.errors import GpudbError
from gpudb.sql.bind.binder import StatementBinder
from gpudb.sql.bind.query.select import bind_query
from gpudb.sql.parse.parser import parse
from gpudb.values.text_columns import format_text_column
from tests.support.layouts import in_layouts
from tests.support.oracle.wire import Outcome


class Evaluator:
    """Embedded engine over an empty catalog."""

    def __init__(self) -> None:
        self._engine = CpuEngine(memory_limit=1 << 30, threads=2)
        self._catalog = make_initial_catalog()

    def execute(self, sql: str, zone: str = "UTC") -> Outcome:
        """Runs a SELECT; returns its outcome with values in PostgreSQL's text format."""
        try:
            return in_layouts(lambda: self._execute(sql, zone))
        except GpudbError as error:
            return Outcome(sqlstate=error.sqlstate, message=error.message)

    def _execute(self, sql: str, zone: str) -> Outcome:
        (statement,) = parse(sql)
        query = bind_query(StatementBinder(self._catalog, sql, timezone=zone), statement.node, None)
        stream = self._engine.run(Request(query, self._catalog, Settings(timezone=zone)))
        rows: list[tuple[str | None, ...]] = []
        for batch in stream:
            rows += _rows(batch, [column.type for column in query.columns], zone)
        columns = query.columns
        return Outcome(
            tuple(rows), tuple(each.name for each in columns), tuple(each.type.oid for each in columns),
            tuple(each.type.modifier for each in columns), f"SELECT {len(rows)}",
        )  # fmt: skip

    def close(self) -> None:
        """Frees the engine."""
        self._engine.close()


def _rows(batch: pa.RecordBatch, types: list[object], zone: str) -> list[tuple[str | None, ...]]:
    texts = [format_text_column(t, column, zone).to_pylist() for t, column in zip(types, batch.columns)]  # type: ignore[arg-type]
    return list(zip(*texts))


@dataclass(frozen=True, slots=True)
class Case:
    """One line of a case file: the expression list of a SELECT, or a whole query."""

    file: str
    line: int
    text: str
    zone: str

    @property
    def sql(self) -> str:
        """The statement."""
        return self.text if self.text.lower().startswith(("select ", "with ", "values ")) else f"SELECT {self.text}"

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def cases(folder: Path) -> Iterator[Case]:
    """Yields every case of every file."""
    for path in sorted(folder.glob("*.sql")):
        zone = "UTC"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            line = line.strip()
            if line.startswith("-- zone "):
                zone = line.removeprefix("-- zone ")
            elif line and not line.startswith("--"):
                yield Case(path.name, number, line.rstrip(";"), zone)
