"""Functions in FROM: their rows beside the rows whose columns they read, with one column per field of a record."""

from __future__ import annotations

from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.plan.logical.rows import Rows
from gpudb.plan.tree.nodes import Node, Project, ProjectSet, column
from gpudb.sql import bound
from gpudb.types import SqlType


def join_function(rows: Rows, source: bound.FunctionScan) -> Rows:
    """Joins each row with the rows that a function returns for it; the function's arguments are over the rows."""
    args = tuple(rows.rewrite(each) for each in source.args)
    columns = source.columns[: len(source.columns) - source.ordinality]
    kind = columns[0].type
    if len(columns) > 1:
        kind = SqlType("record", fields=tuple((each.name, each.type) for each in columns))
    width = len(rows.held)
    if source.function.returns_set:
        node: Node = ProjectSet(rows.node, (bound.SetReturning(source.function, args, kind),), source.ordinality)
    elif source.ordinality:
        raise NotSupportedOnWorkers(f"function {source.function.name} WITH ORDINALITY")
    else:
        kept = tuple(rows.column_at(index) for index in range(width))
        node = Project(rows.node, (*kept, bound.Call(source.function, args, kind)))
    if len(columns) > 1:
        node = _expand_record(node, width, source.columns)
    own = tuple(bound.Column(source.rel, i, c.type, c.name) for i, c in enumerate(source.columns))
    return Rows(node, (*rows.held, *own))


def _expand_record(node: Node, place: int, columns: tuple[bound.OutputColumn, ...]) -> Node:
    """Replaces the record at a position by its fields; `columns` are the output columns from that position on."""
    every = [column(index, kind, node.names[index]) for index, kind in enumerate(node.types)]
    record = every[place]
    fields = [bound.Field(record, name, kind, index) for index, (name, kind) in enumerate(record.type.fields)]
    names = (*node.names[:place], *(each.name for each in columns))
    return Project(node, (*every[:place], *fields, *every[place + 1 :]), names)
