"""WHERE CURRENT OF cursor: the row on which a cursor is, as a condition of UPDATE and DELETE.

The cursor's query runs once more, over what the cursor sees, with the addresses of the rows. Rows of equal values are
taken in their order: nobody can tell which of them the cursor is on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pyarrow as pa
from postgast import pg_query_pb2 as pg

from gpudb.catalog.relations import View
from gpudb.catalog.tables import Table
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.functions.row_addresses import ROW_ADDRESS
from gpudb.session.context import Context
from gpudb.session.execution.requests.requests import collect, run_on_engine
from gpudb.session.results import Result
from gpudb.session.state.cursors import Cursor
from gpudb.sql.bind.expressions.calls import call_function
from gpudb.sql.bound import Column, Constant, Expr, OutputColumn, Parameter, Scan, Select, SetReturning, Window
from gpudb.sql.parse.parser import deparse, inner, kind, present
from gpudb.sql.traverse import has_volatile, walk
from gpudb.types import INT8, TEXT
from gpudb.values.text_columns import format_text_column
from gpudb.values.tid import format_tid

_MOST_ROWS = 1_000_000
"""Rows of a cursor whose addresses are kept."""
_NULL = "\0"


def run_at_cursor(context: Context, run: Callable[[], Result]) -> Result:
    """Runs a change, WHERE CURRENT OF replaced by the address of the cursor's row.

    34000 for an unknown cursor; 24000 for one that is on no row, or whose rows are not each one of the table.
    """
    node: Any = context.statement.node
    if not present(node.where_clause) or kind(node.where_clause) != "current_of_expr":
        return run()
    table = _find_target(context, node)
    name = _find_name(context, inner(node.where_clause).cursor_name)
    cursor = context.session.cursors.get(name)
    if cursor is None:
        raise SqlError.of("invalid_cursor_name", f'cursor "{name}" does not exist')
    scan = _find_scan(cursor, table)
    if scan is None:
        if isinstance(cursor.query, Select) and cursor.query.locks and table.oid in cursor.tables:
            raise FeatureNotSupported("WHERE CURRENT OF a cursor over a join is not supported")
        raise _invalid_state(f'cursor "{name}" is not a simply updatable scan of table "{table.name}"')
    row = cursor.rows.get_current()
    if row is None:
        raise _invalid_state(f'cursor "{name}" is not positioned on a row')
    position = cursor.rows.position
    if position in cursor.updated:
        raise FeatureNotSupported(f'another change of the row that cursor "{name}" is on is not supported')
    if cursor.addresses is None:
        cursor.addresses = _locate_rows(context, cursor, scan)
    same = cursor.addresses.get(_make_key(cursor, row), ())
    rank = _find_rank(cursor, row) if len(same) > 1 else 0
    if rank >= len(same):
        raise FeatureNotSupported(f'the row that cursor "{name}" is on cannot be found again')
    changed = type(node)()
    changed.CopyFrom(node)
    changed.where_clause.CopyFrom(_compare_address(node.relation, same[rank]))
    context.statement = replace(context.statement, node=changed, text=deparse(changed), part=True)
    result = run()
    if result.tag.endswith(" 0") and position not in cursor.deleted:
        raise FeatureNotSupported(f'the row that cursor "{name}" is on has been changed by another statement')
    (cursor.deleted if changed.DESCRIPTOR.name == "DeleteStmt" else cursor.updated).add(position)
    return result


def _invalid_state(message: str) -> SqlError:
    return SqlError.of("invalid_cursor_state", message)


def _find_target(context: Context, node: Any) -> Table:
    path = (node.relation.schemaname,) if node.relation.schemaname else context.session.search_path()
    relation = context.transaction.catalog.find(node.relation.relname, path)
    if isinstance(relation, View):
        raise FeatureNotSupported("WHERE CURRENT OF on a view is not implemented")
    if not isinstance(relation, Table):
        raise SqlError.of("undefined_table", f'relation "{node.relation.relname}" does not exist')
    return relation


def _find_name(context: Context, name: str) -> str:
    """Returns the name of a cursor, which a variable of a body may hold."""

    def refuse() -> Expr:
        raise SqlError.of("undefined_column", f'column "{name}" does not exist')

    if context.arguments is None:
        return name
    with suppress(SqlError):
        found = context.arguments.choose((name,), refuse)
        if isinstance(found, Parameter):
            return str(context.parameters[found.number - 1])
        if isinstance(found, Constant) and found.value is not None:
            return str(found.value)
    return name


def _find_scan(cursor: Cursor, table: Table) -> Scan | None:
    """Returns the scan of a table of which each row of a cursor is one row; None if it is another query."""
    query = cursor.query
    if not isinstance(query, Select) or not isinstance(query.source, Scan) or query.source.table.oid != table.oid:
        return None
    if query.grouped or query.distinct or query.ctes or table.partitioned_by is not None:
        return None
    nodes = [node for target in query.targets for node in walk(target)]
    return None if any(isinstance(node, SetReturning | Window) for node in nodes) else query.source


def _locate_rows(context: Context, cursor: Cursor, scan: Scan) -> dict[tuple[str, ...], list[int]]:
    """Returns the addresses of a cursor's rows, in their order, by the texts of their values."""
    query = cursor.query
    assert isinstance(query, Select)
    if has_volatile(query):
        raise FeatureNotSupported("WHERE CURRENT OF a cursor with volatile functions is not supported")
    width = len(scan.table.columns)
    place = (Column(scan.rel, width, TEXT, "file"), Column(scan.rel, width + 1, INT8, "row"))
    address = call_function(context.binder(), ROW_ADDRESS, place)
    columns = (*query.columns, OutputColumn("ctid", address.type))
    source = replace(scan, row_ids=True, only_reads=True, addressed=True)
    located = replace(query, columns=columns, targets=(*query.targets, address), source=source, locks=())
    opened = replace(context, parameters=cursor.parameters)
    found = collect(run_on_engine(opened, located, snapshot=cursor.catalog))
    if found.num_rows > _MOST_ROWS:
        raise SqlError.of("program_limit_exceeded", f"a cursor of more than {_MOST_ROWS} rows has no current row")
    addresses: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for batch in found.to_batches():
        values = batch.select(range(len(query.columns)))
        for key, value in zip(_iter_keys(cursor, values), batch.column(len(query.columns)).to_pylist(), strict=True):
            addresses[key].append(value)
    return dict(addresses)


def _iter_keys(cursor: Cursor, batch: pa.RecordBatch) -> Iterator[tuple[str, ...]]:
    types = (column.type for column in cursor.columns)
    texts = [format_text_column(item, column) for item, column in zip(types, batch.columns, strict=True)]
    if not texts:
        return iter([()] * batch.num_rows)
    return zip(*([_NULL if text is None else text for text in column.to_pylist()] for column in texts), strict=True)


def _make_key(cursor: Cursor, row: pa.RecordBatch) -> tuple[str, ...]:
    return next(_iter_keys(cursor, row))


def _find_rank(cursor: Cursor, row: pa.RecordBatch) -> int:
    """Returns how many rows before the current one have its values."""
    before = cursor.rows.list_before()
    if before is None:
        raise FeatureNotSupported("WHERE CURRENT OF a row of which others have the values is not supported here")
    key = _make_key(cursor, row)
    return sum(each == key for batch in before for each in _iter_keys(cursor, batch))


def _compare_address(relation: Any, address: int) -> Any:
    """Returns `table.ctid = 'address'::tid` as a parse tree."""
    test = pg.Node()
    test.a_expr.kind = pg.AEXPR_OP
    test.a_expr.name.add().string.sval = "="
    name = relation.alias.aliasname if relation.HasField("alias") else relation.relname
    for part in (name, "ctid"):
        test.a_expr.lexpr.column_ref.fields.add().string.sval = part
    cast = test.a_expr.rexpr.type_cast
    cast.arg.a_const.sval.sval = format_tid(address)
    for part in ("pg_catalog", "tid"):
        cast.type_name.names.add().string.sval = part
    cast.type_name.typemod = -1
    return test
