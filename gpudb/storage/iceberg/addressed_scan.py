"""Scans whose rows have addresses (`ctid`): conditions on these leave out files, and rows of the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from gpudb.catalog.row_addresses import ADDRESSES, Span
from gpudb.catalog.tables import DataFile, Table
from gpudb.functions.library import COMMUTATORS, get_comparison
from gpudb.functions.row_addresses import ROW_ADDRESS
from gpudb.sql.bound import BoolOp, Call, Column, Constant, Expr, InList, Parameter
from gpudb.storage.iceberg.scan import FILE_COLUMN, ROW_COLUMN, scan_sql
from gpudb.values.tid import OFFSET_BITS, OFFSETS

_LAST = (1 << 48) - 1
_MOST_FILES = 100
"""Files up to which the rows of each are narrowed by themselves."""


def render_addressed(
    table: Table, files: Sequence[DataFile], where: Expr | None, rel: int, parameters: Sequence[object]
) -> str:
    """Returns the scan of a table's files, with their rows' places, as DuckDB SQL.

    Rows whose addresses a condition on relation `rel` excludes may be left out.
    """
    low, high = 0, _LAST
    for least, most in _list_ranges(where, rel, parameters) if where is not None else ():
        low, high = max(low, least), min(high, most)
    ADDRESSES.place(table.files)  # in their order, whatever a condition leaves out
    spans = dict(zip((file.path for file in files), ADDRESSES.place(files), strict=True))
    files = [file for file in files if spans[file.path].overlaps(low, high)]
    scan = scan_sql(table, files, with_row_ids=True)
    if (low, high) == (0, _LAST) or not 0 < len(files) <= _MOST_FILES:
        return f"({scan})"
    tests = (_render_rows(file.path, spans[file.path], low, high) for file in files)
    return f"(SELECT * FROM ({scan}) WHERE {' OR '.join(tests)})"


def _render_rows(path: str, span: Span, low: int, high: int) -> str:
    """Returns a condition that the rows of a file with addresses from `low` to `high` satisfy."""
    first = ((low >> OFFSET_BITS) - span.first) * span.rows + max(low & OFFSETS, 1) - 1
    last = ((high >> OFFSET_BITS) - span.first) * span.rows + min(high & OFFSETS, span.rows) - 1
    quoted = path.replace("'", "''")
    return f'("{FILE_COLUMN}" = \'{quoted}\' AND "{ROW_COLUMN}" BETWEEN {first} AND {last})'


def _list_ranges(expr: Expr, rel: int, parameters: Sequence[object]) -> Iterator[tuple[int, int]]:
    """Yields ranges in which the addresses of all rows are for which a condition is true."""
    match expr:
        case BoolOp(op="AND", args=args):
            for arg in args:
                yield from _list_ranges(arg, rel, parameters)
        case Call(function=function, args=(left, right)):
            symbol = get_comparison(function)
            if symbol is None:
                return
            if _is_address(right, rel):
                left, right, symbol = right, left, COMMUTATORS[symbol]
            value = _get_value(right, parameters) if _is_address(left, rel) else None
            if value is not None and symbol in _RANGES:
                yield _RANGES[symbol](value)
        case InList(arg=arg, items=items, negated=False) if _is_address(arg, rel):
            values = [_get_value(item, parameters) for item in items]
            known = [value for value in values if value is not None]
            if known and len(known) == len(values):
                yield min(known), max(known)


_RANGES: dict[str, Callable[[int], tuple[int, int]]] = {
    "=": lambda value: (value, value),
    "<": lambda value: (0, value - 1),
    "<=": lambda value: (0, value),
    ">": lambda value: (value + 1, _LAST),
    ">=": lambda value: (value, _LAST),
}


def _is_address(expr: Expr, rel: int) -> bool:
    if not isinstance(expr, Call) or expr.function.name != ROW_ADDRESS:
        return False
    return isinstance(expr.args[0], Column) and expr.args[0].rel == rel


def _get_value(expr: Expr, parameters: Sequence[object]) -> int | None:
    value = expr.value if isinstance(expr, Constant) else None
    if isinstance(expr, Parameter):
        value = parameters[expr.number - 1] if expr.number <= len(parameters) else None
    return value if isinstance(value, int) else None
