"""Searches for nearest rows by indexes: before a query runs, the rows of its scan that it needs are chosen.

Indexes find more rows than the query returns. The query's own WHERE and joins decide which of them count: its distances
over the chosen rows are computed first, and the search goes on, for four times as many rows, until enough of them are
nearer than any row that was not found. Where that takes too many rows, the query reads all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from gpudb.catalog.deleted_rows import Rows
from gpudb.catalog.tables import DataFile, Table
from gpudb.engine.cpu.loaded_tables import Chosen
from gpudb.engine.protocol import Request
from gpudb.sql import bound
from gpudb.sql.nearest_search import NearestSearch, find_nearest_searches
from gpudb.sql.prepared import Artifact
from gpudb.types import FLOAT8, INT8
from gpudb.values.half_vectors import WIDTH
from gpudb.vector_indexes.file_indexes import MIN_ROWS, FileIndexes, IndexedFile
from gpudb.vector_indexes.rows import Matrix, find_indexable, to_matrix

SEARCHES: Artifact[tuple[NearestSearch, ...]] = Artifact()
"""The searches in a query that indexes may answer."""
_MAX_RESULT = 10_000
_MAX_SHARE = 8
"""An index is searched for at most this part of a table's rows: reading all of them then takes as long."""
_SLACK = 1e-5
"""Relative difference of distances in single and in double precision."""


@dataclass(frozen=True, slots=True)
class _Parts:
    """A table's files for a search: those with an index, and the paths of those that are read whole."""

    indexed: Sequence[DataFile]
    whole: Sequence[str]
    rows: int


class NearestRows:
    """Chooses the rows that searches read. `run` runs a query over chosen rows, and returns its rows."""

    def __init__(self, indexes: FileIndexes, run: Callable[[Request, Mapping[int, Chosen]], pa.Table]) -> None:
        self._indexes = indexes
        self._run = run

    def choose(self, request: Request) -> Mapping[int, Chosen]:
        """Returns the chosen rows of each scan, by its number, that an index answers; others read all rows."""
        if not request.settings.nearest.enabled:
            return {}
        searches = request.query.prepared.get(SEARCHES)
        if searches is None:
            searches = request.query.prepared.put(SEARCHES, find_nearest_searches(request.query))
        chosen = {each.scan.rel: self._choose(request, each) for each in searches}
        return {rel: rows for rel, rows in chosen.items() if rows is not None}

    @staticmethod
    def list_used(request: Request, chosen: Mapping[int, Chosen]) -> list[NearestSearch]:
        """Returns the searches by which rows were chosen."""
        return [each for each in request.query.prepared.get(SEARCHES) or () if each.scan.rel in chosen]

    def _choose(self, request: Request, search: NearestSearch) -> Chosen | None:
        wanted = _count_rows(search.select, request.parameters)
        if wanted is None:
            return None
        table = request.table(search.scan.table)
        parts = self._split(table, search)
        if not parts.indexed or wanted * _MAX_SHARE > parts.rows:
            return None
        query = self._evaluate(request, search)
        if query is None:
            return None
        breadth = request.settings.nearest.breadth(search.definition.method)
        count = max(wanted, breadth) if search.definition.is_graph else 4 * wanted
        while count * _MAX_SHARE <= parts.rows:
            request.cancel.check()
            found = self._search(parts, search, query, count, breadth)
            if found is None:
                return None
            chosen, distances, horizon = found
            if not _reads_all(search) or _count_near(distances, horizon) < wanted:
                distances = self._measure(request, search, chosen, wanted)
            if _count_near(distances, horizon) >= wanted:
                return chosen
            count, breadth = 4 * count, breadth if search.definition.is_graph else 4 * breadth
        return None

    def _split(self, table: Table, search: NearestSearch) -> _Parts:
        indexed: list[DataFile] = []
        whole: list[str] = []
        rows = unindexed = 0
        for file in table.files:
            rows += file.rows
            held = as_indexed(file, search.column.field_id)
            if file.stored_rows >= MIN_ROWS and self._indexes.has(held, search.definition):
                indexed.append(file)
                continue
            if file.stored_rows >= MIN_ROWS:
                self._indexes.start(held, search.definition)
            whole.append(file.path)
            unindexed += file.rows
        self._indexes.sweep()
        return _Parts(indexed if unindexed * _MAX_SHARE <= rows else (), whole, rows)

    def _evaluate(self, request: Request, search: NearestSearch) -> Matrix | None:
        """Returns the vector that is searched for; None for NULL and for what indexes do not have."""
        kind = search.to.type.without_modifier
        column = bound.OutputColumn("to", kind)
        value = self._run(replace(request, query=bound.Select((column,), (search.to,))), {}).column(0)
        if len(value) != 1 or value.null_count:
            return None
        (only,) = value.to_pylist()
        if len(only) != search.definition.dimensions * (WIDTH if search.definition.half else 1):
            return None  # an error, which depends on the rows
        matrix = to_matrix(pa.array([only], kind.arrow), search.definition)
        return matrix[0] if find_indexable(matrix, search.definition)[0] else None

    def _search(
        self, parts: _Parts, search: NearestSearch, query: Matrix, count: int, breadth: int
    ) -> tuple[Chosen, Any, float] | None:
        """Returns the rows that indexes find, their distances, and that of the nearest row that they may lack."""
        chosen: dict[str, Rows | None] = dict.fromkeys(parts.whole)
        distances: list[Any] = []
        horizon = float(np.inf)
        for file in parts.indexed:
            held = as_indexed(file, search.column.field_id)
            near = self._indexes.search(held, search.definition, query, count, breadth)
            if near is None:
                return None
            horizon = min(horizon, near.horizon)
            gone = () if file.deleted is None else file.deleted.rows
            live = ~np.isin(near.numbers, gone)
            chosen[file.path] = np.sort(near.numbers[live])
            distances.append(near.distances[live])
        return chosen, np.concatenate(distances), horizon

    def _measure(self, request: Request, search: NearestSearch, chosen: Chosen, wanted: int) -> Any:
        """Returns the distances of the first rows that the query would return of the chosen ones."""
        column, limit = bound.OutputColumn("distance", FLOAT8), bound.Constant(wanted, INT8)
        probe = replace(search.select, columns=(column,), targets=(search.key,), limit=limit, offset=None)
        rows = self._run(replace(request, query=probe), {search.scan.rel: chosen})
        return np.asarray(rows.column(0).drop_null().to_numpy())


def as_indexed(file: DataFile, field_id: int) -> IndexedFile:
    """Returns a column of a data file as its indexes know it."""
    return IndexedFile(file.path, file.stored_rows, field_id)


def _reads_all(search: NearestSearch) -> bool:
    """Returns whether a query returns rows whatever they are."""
    return search.select.where is None and search.select.source is search.scan


def _count_near(distances: Any, horizon: float) -> int:
    return int((distances <= horizon + abs(horizon) * _SLACK).sum()) if np.isfinite(horizon) else len(distances)


def _count_rows(select: bound.Select, parameters: Sequence[object]) -> int | None:
    """Returns how many rows a query wants, those that OFFSET skips included; None if it is unknown, or too many."""
    total = 0
    for expr, missing in ((select.limit, None), (select.offset, 0)):
        value = parameters[expr.number - 1] if isinstance(expr, bound.Parameter) else getattr(expr, "value", missing)
        if expr is not None and not isinstance(expr, bound.Parameter | bound.Constant):
            return None
        value = missing if value is None else value
        if not isinstance(value, int) or value < 0:
            return None
        total += value
    return total if 0 < total <= _MAX_RESULT else None
