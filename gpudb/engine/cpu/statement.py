"""The DuckDB SQL of a query, which the query keeps for as long as its tables stay the same."""

from __future__ import annotations

import re
import secrets
from collections import UserDict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

from gpudb.catalog.file_tables import FileTable
from gpudb.catalog.tables import Table
from gpudb.duckdb.literals import render_literal
from gpudb.duckdb.output_casts import cast_output
from gpudb.duckdb.system_relations import reads_system_catalog
from gpudb.engine.cpu.instance import EngineInstance
from gpudb.engine.cpu.loaded_tables import Chosen, TableReader
from gpudb.engine.cpu.null_order import has_nulls
from gpudb.engine.cpu.render import QueryRenderer
from gpudb.engine.protocol import Request
from gpudb.sql import bound
from gpudb.sql.prepared import Artifact
from gpudb.sql.traverse import walk
from gpudb.storage.files.lake_sql import render_lake
from gpudb.storage.files.reader_sql import render_files, render_sources
from gpudb.storage.files.sources import needs_sources, open_sources
from gpudb.storage.iceberg.addressed_scan import render_addressed
from gpudb.storage.iceberg.column_ranges import column_ranges
from gpudb.storage.iceberg.pruning import ColumnRange
from gpudb.storage.iceberg.scan import scan_sql
from gpudb.storage.partitions.pruning import prune_table, split_table
from gpudb.types import SqlType


@dataclass(frozen=True, slots=True)
class _Scan:
    """A table as a query names it and as its snapshot has it, and the SQL relation that it was read as.

    `where` is the condition of its query, which names it `rel`.
    """

    named: Table
    table: Table
    rel: int
    where: bound.Expr | None
    relation: str

    def is_current(self, request: Request, reader: TableReader) -> bool:
        """Whether the table is still read as the same relation; acquires the relation for `reader`."""
        if request.table(self.named) is not self.table:
            return False
        ranges = partial(column_ranges, self.where, self.rel, self.table, request.parameters)
        return _read_table(reader, self.table, ranges) == self.relation


@dataclass(frozen=True, slots=True)
class StatementSql:
    """The DuckDB SQL of a statement, and whether it refers to the system catalog (see `reads_system_catalog`)."""

    text: str
    reads_catalog: bool


@dataclass(frozen=True, slots=True)
class _Text:
    """SQL that depends on the relations of its scans alone, and on the literals of `slots` between its parts."""

    parts: Sequence[str]
    slots: Sequence[tuple[int, SqlType]]
    scans: Sequence[_Scan]
    reads_catalog: bool

    def fill(self, parameters: Sequence[object]) -> str | None:
        """Returns the SQL with the values of parameters; None if one is so long that its place should be considered."""
        if not self.slots:
            return self.parts[0]
        pieces = [self.parts[0]]
        for (number, item), part in zip(self.slots, self.parts[1:], strict=True):
            literal = render_literal(parameters[number - 1], item)
            if len(literal) > _LONGEST_LITERAL:
                return None
            pieces += (literal, part)
        return "".join(pieces)


class _Parameters(Sequence[object]):
    """The values of parameters, for a renderer that shows them as slots where it can.

    `was_read` is whether the text depends on one of them in another way.
    """

    def __init__(self, values: Sequence[object]) -> None:
        self._values = values
        self._slots: list[tuple[int, SqlType]] = []
        self.was_read = False

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, index: Any) -> Any:
        self.was_read = True
        return self._values[index]

    def slot(self, expr: bound.Parameter) -> str | None:
        """Returns a mark in the place of a parameter's literal; None if more than the literal depends on the value."""
        item = expr.type
        if item.is_carried or item.name in _DISPLAYED or item.name.startswith("reg"):
            return None
        if len(render_literal(self._values[expr.number - 1], item)) > _LONGEST_LITERAL:
            return None
        if (expr.number, item) not in self._slots:
            self._slots.append((expr.number, item))
        return f"\0{_MARK} {self._slots.index((expr.number, item))}\0"

    def split(self, sql: str) -> tuple[list[str], list[tuple[int, SqlType]]]:
        """Splits SQL at the marks: returns the parts, and the parameters between them."""
        pieces = re.split(re.escape(f"\0{_MARK} ") + "([0-9]+)\0", sql)
        return pieces[::2], [self._slots[int(place)] for place in pieces[1::2]]


class _SessionValues(UserDict[str, Any]):
    """Session values that record whether one of them was read."""

    was_read = False

    def get(self, key: str, default: Any = None) -> Any:
        self.was_read = True
        return self.data.get(key, default)


_DISPLAYED = frozenset({"numrange"})
"""Types whose SQL has a part for how a value is displayed, beside `numeric` where it is carried."""
_MARK = secrets.token_hex(8)
"""What marks a slot: no text of a client contains it."""
_LONGEST_LITERAL = 64
"""Length up to which a parameter is written wherever its expression is; a longer one may be bound to a name."""
_ALL: Mapping[int, Chosen] = MappingProxyType({})
_TEXTS: dict[bool, Artifact[_Text]] = {False: Artifact(), True: Artifact()}
_IS_NARROWABLE: Artifact[bool] = Artifact()
_FILE_TABLES: Artifact[tuple[FileTable, ...]] = Artifact()


def list_file_tables(query: bound.Query) -> tuple[FileTable, ...]:
    """Returns the files that a query reads as tables."""
    known = query.prepared.get(_FILE_TABLES)
    if known is None:
        found = tuple(node.files for node in walk(query) if isinstance(node, bound.FileScan))
        known = query.prepared.put(_FILE_TABLES, found)
    return known


def is_narrowable(query: bound.Query) -> bool:
    """Returns whether aggregates evaluate all arguments before the first row, so that the query can be run again."""
    known = query.prepared.get(_IS_NARROWABLE)
    return query.prepared.put(_IS_NARROWABLE, _finds_aggregates(query)) if known is None else known


def _finds_aggregates(query: bound.Query) -> bool:
    nodes = list(walk(query))
    streams = any(isinstance(node, bound.SetOperation) for node in nodes)
    return not streams and any(isinstance(node, bound.Aggregate) for node in nodes)


def statement_sql(
    instance: EngineInstance,
    request: Request,
    reader: TableReader,
    values_tables: dict[str, object] | None = None,
    *,
    narrow: bool = False,
    chosen: Mapping[int, Chosen] = _ALL,
) -> StatementSql:
    """Returns the DuckDB SQL of a query; adds long VALUES lists (see `QueryRenderer`) and files to
    `values_tables`, by the names under which the text reads them.

    With `narrow` aggregates multiply decimals in 64 bits, which may overflow. The scans numbered in `chosen` read the
    rows there alone.
    """
    known = None if chosen else request.query.prepared.get(_TEXTS[narrow])
    if known is not None and all(scan.is_current(request, reader) for scan in known.scans):
        text = known.fill(request.parameters)
        if text is not None:
            return StatementSql(text, known.reads_catalog)
    scans: list[_Scan] = []
    # Other text in the next run: row numbers name files, and system relations and long VALUES are registered by name.
    repeatable = True
    parameters = _Parameters(request.parameters)

    def table(scan: bound.Scan, where: bound.Expr | None) -> str:
        nonlocal repeatable
        current = request.table(scan.table)
        ranges = partial(column_ranges, where, scan.rel, current, request.parameters)
        if scan.rel in chosen:
            repeatable = False
            return _read_chosen(reader, current, chosen[scan.rel])
        if scan.row_ids:
            repeatable = False
            files = prune_table(current, ranges())
            if scan.addressed:
                return render_addressed(current, files, where, scan.rel, request.parameters)
            return f"({scan_sql(current, files, with_row_ids=True)})"
        relation = _read_table(reader, current, ranges)
        scans.append(_Scan(scan.table, current, scan.rel, where, relation))
        return relation

    def system(qualified: str, read: Collection[str]) -> str:
        nonlocal repeatable
        repeatable = False
        inside = QueryRenderer(table, system, (), values)
        return instance.system.relation(qualified, read, inside.render)

    def files(scan: bound.FileScan) -> str:
        nonlocal repeatable
        if any(file.store is not None for file in scan.files.files):
            repeatable = False  # an instance that was started again has to be told anew
            instance.read_objects()
        if scan.files.lake is not None:
            deleted, name = scan.files.lake.deleted, f"deleted {scan.rel}"
            if deleted is not None and values_tables is not None:
                values_tables[name] = deleted
            return f"({render_lake(scan.files, None if deleted is None else name)})"
        if not needs_sources(scan.files):
            return f"({render_files(scan.files)})"
        opened = open_sources(scan.files)
        names = [f"file {scan.rel} {number}" for number in range(len(opened))]
        if values_tables is not None:
            values_tables.update(zip(names, opened, strict=True))
        pairs = [(name, source.schema.names) for name, source in zip(names, opened, strict=True)]
        return f"({render_sources(scan.files, pairs)})"

    values = _SessionValues(request.settings.values)
    renderer = QueryRenderer(
        table,
        system,
        parameters,
        values,
        narrow=narrow,
        check=request.cancel.check,
        values_tables=values_tables,
        files=files,
        frames=lambda name: request.settings.frames[name].column_names,
        slot=parameters.slot if request.parameters else None,
        may_be_null=lambda scan, index: has_nulls(request.table(scan.table), index),
    )
    parts, slots = parameters.split(_with_output_casts(request.query, renderer.render(request.query)))
    made = _Text(parts, slots, scans, reads_system_catalog("".join(parts)))
    if repeatable and not values.was_read and not parameters.was_read and not values_tables:
        request.query.prepared.put(_TEXTS[narrow], made)
    text = made.fill(request.parameters)
    assert text is not None
    return StatementSql(text, made.reads_catalog)


def _read_table(reader: TableReader, table: Table, ranges: Callable[[], Sequence[ColumnRange]]) -> str:
    """Returns a table as a relation for FROM: of a partitioned one the partitions that may have rows in `ranges`."""
    if table.tree is None:
        return reader.relation(table, ranges)
    leaves = [each for each in split_table(table, ranges()) if each.files]
    if not leaves:
        return f"({scan_sql(table, ())})"
    return f"({' UNION ALL '.join(f'SELECT * FROM {reader.relation(each, ranges)}' for each in leaves)})"


def _read_chosen(reader: TableReader, table: Table, chosen: Chosen) -> str:
    """Returns some of a table's rows as a relation for FROM."""
    if table.tree is None:
        return reader.chosen_relation(table, chosen)
    leaves = [each for each in split_table(table, ()) if each.files]
    return f"({' UNION ALL '.join(f'SELECT * FROM {reader.chosen_relation(each, chosen)}' for each in leaves)})"


def _with_output_casts(query: bound.Query, inner: str) -> str:
    """Returns the SQL with casts of the columns whose Arrow type from DuckDB differs from SqlType.arrow."""
    plain = [f"q.c{number}" for number in range(1, len(query.columns) + 1)]
    outputs = [cast_output(each, c.type) for each, c in zip(plain, query.columns, strict=True)]
    if outputs == plain:
        return inner
    if query.order_by and any((c.type.element or c.type).name[:3] == "reg" for c in query.columns):
        # Looking up names joins, which loses the order.
        numbered = f"SELECT *, row_number() OVER () AS place FROM ({inner}) AS o"
        return f"SELECT {', '.join(outputs)} FROM ({numbered}) AS q ORDER BY q.place"
    return f"SELECT {', '.join(outputs)} FROM ({inner}) AS q"
