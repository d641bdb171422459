"""Binding of INSERT … VALUES with literal rows: each column of literals becomes a column of its type at once.

The bound statement reads them as a frame, so that it serves all texts of its shape whose literals can be read so.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa

from gpudb.engine.cpu.values_tables import PLAIN_TYPES
from gpudb.errors import GpudbError
from gpudb.sql.bind.base import Binder
from gpudb.sql.bound import Column, Constant, Expr, FrameScan, Insert, OutputColumn, Select, Statement, Values
from gpudb.sql.parse.literal_rows import LiteralColumn, LiteralRows
from gpudb.sql.parse.parser import RawStatement, inner
from gpudb.storage.copy.conversion import Clock, convert_text
from gpudb.storage.plain_rows import PlainRows, get_plain_kind, is_plain
from gpudb.types import SqlType
from gpudb.types.facts import FLOATS

LITERAL_ROWS = "gpudb literal rows"
"""The frame with the literals of a statement."""
_NUMBERS = frozenset("int2 int4 int8 float4 float8 numeric".split())
_INTEGERS = frozenset("int2 int4 int8".split())
_MOMENTS = frozenset("date time timestamp timestamptz".split())
_TYPES = _NUMBERS | _MOMENTS | frozenset("bool text varchar bpchar uuid bytea".split())
_CASTS = {
    "float": "float8",
    "int": "int4",
    "integer": "int4",
    "bigint": "int8",
    "smallint": "int2",
    "decimal": "numeric",
}
_WHOLE = re.compile(r"[-\s\d]*", re.ASCII)
_ZERO = re.compile(r"0*\.?0*(?:[eE][+-]?\d+)?", re.ASCII)


def bind_literal_rows(binder: Binder, statement: RawStatement, bound: Insert) -> Insert | None:
    """Returns the INSERT of a statement's literal rows; `bound` is that of the first of them.

    None if it has to be bound row by row: for what is not plain, or for the error of a row.
    """
    rows, query, table = statement.rows, bound.query, bound.table
    names = [inner(each).name for each in statement.node.cols]
    if rows is None or not isinstance(query, Values) or len(query.rows) != 1 or query.ctes or bound.check is not None:
        return None
    if table.name != statement.node.relation.relname or any(
        len(inner(each).indirection) for each in statement.node.cols
    ):
        return None  # a view has other columns
    places = {column.name: place for place, column in enumerate(table.columns)}
    targets = [places[name] for name in names] if names else list(range(len(rows.columns)))
    columns = [table.columns[place] for place in targets]
    if len(columns) != len(rows.columns) or any(column.generated or column.identity == "a" for column in columns):
        return None
    if not _convert(rows, tuple(column.type for column in columns), binder.timezone):
        return None
    rel = binder.new_rel()
    outputs = tuple(OutputColumn(f"c{number}", column.type) for number, column in enumerate(columns, 1))
    values: list[Expr] = list(query.rows[0])
    for index, (place, output) in enumerate(zip(targets, outputs, strict=True)):
        values[place] = Column(rel, index, output.type, output.name)
    return replace(bound, query=Select(query.columns, tuple(values), FrameScan(rel, LITERAL_ROWS, outputs)))


def find_frame(bound: Statement) -> FrameScan | None:
    """Returns the scan by which a bound statement reads literal rows; None for any other statement."""
    if not isinstance(bound, Insert) or not isinstance(bound.query, Select):
        return None
    return bound.query.source if is_over_literal_rows(bound.query) else None  # type: ignore[return-value]


def is_over_literal_rows(query: Select) -> bool:
    """Returns whether a query reads literal rows alone."""
    return isinstance(query.source, FrameScan) and query.source.name == LITERAL_ROWS


def read_literal_rows(rows: LiteralRows, bound: Statement, zone: str) -> bool:
    """Returns whether rows can be those of a statement that was bound for others of their shape; it reads them then."""
    frame = find_frame(bound)
    return frame is not None and _convert(rows, tuple(column.type for column in frame.columns), zone)


def get_literal_rows(rows: LiteralRows) -> pa.Table | None:
    """Returns the rows as they were read last; None for rows that are bound one by one."""
    if rows.made is None:
        return None
    (types, _), columns = rows.made
    arrays = [to_array(kind, each) for kind, each in zip(types, columns, strict=True)]
    return pa.table(arrays, names=[f"c{number}" for number in range(1, len(arrays) + 1)])


def make_literal_rows(rows: LiteralRows, query: Select) -> PlainRows | pa.RecordBatch | None:
    """Returns the rows of a query over the frame of literal rows beside constants; None if an engine is needed."""
    if rows.made is None or query.where is not None or query.ctes:
        return None
    columns, is_plain_alone = [], True
    for target in query.targets:
        if isinstance(target, Column):
            columns.append(rows.made[1][target.index])
        elif isinstance(target, Constant) and target.type.name in PLAIN_TYPES:
            columns.append([target.value] * len(rows))
            is_plain_alone = is_plain_alone and get_plain_kind(target.type) is not None
        else:
            return None
        is_plain_alone = is_plain_alone and type(columns[-1]) is list
    if is_plain_alone:
        return PlainRows(columns, len(rows))
    arrays = [to_array(target.type, each) for target, each in zip(query.targets, columns, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, [f"c{number}" for number in range(1, len(arrays) + 1)])


def to_array(kind: SqlType, values: pa.Array | list[object]) -> pa.Array:
    """Returns values of a type, plain ones or in their array, as an array."""
    return pa.array(values, kind.arrow) if isinstance(values, list) else values


def _convert(rows: LiteralRows, types: tuple[SqlType, ...], zone: str) -> bool:
    """Reads the literals as values of their columns' types; returns whether that was possible."""
    key = types, zone
    if rows.made is None or rows.made[0] != key:
        if len(types) != len(rows.columns):
            return False
        columns = []
        for kind, literals in zip(types, rows.columns, strict=True):
            values = _convert_column(kind, literals, zone)
            if values is None:
                return False
            columns.append(values)
        rows.made = key, columns
    return True


def _convert_column(kind: SqlType, column: LiteralColumn, zone: str) -> pa.Array | list[object] | None:
    """Returns the values of literals, few plain ones as a list; None if they have to be bound."""
    if kind.name not in _TYPES or kind.domain is not None or kind.user is not None or kind.element is not None:
        return None
    if any(_CASTS.get(cast, cast) != kind.name for cast in column.casts):
        return None
    if len(column.literals) <= _FEW:
        values = _read_few(kind, column)
        if values is not None:
            return values
    texts = _read_literals(kind, column)
    if texts is None:
        return None
    try:
        converted = convert_text(kind, pa.array(texts, pa.string()), Clock(zone))
    except (GpudbError, pa.ArrowException):
        return None
    return None if converted.errors else converted.values


def _read_few(kind: SqlType, column: LiteralColumn) -> list[object] | None:
    """Returns the values of a few literals in their plainest forms; None for any other, which take longer."""
    read = _PLAINEST.get(kind.name)
    if read is None or get_plain_kind(kind) is None:
        return None
    try:
        values = [None if each in _NULLS else read(each) for each in column.literals]
    except (ValueError, LookupError):
        return None
    return values if is_plain(kind, values) else None


def _read_integer(literal: str) -> int:
    if not _PLAIN_INTEGER.fullmatch(literal):
        raise ValueError(literal)
    return int(literal)


def _read_float(literal: str) -> float:
    value = float(literal) if _PLAIN_DECIMAL.fullmatch(literal) else math.inf
    if not -1e300 < value < 1e300:
        raise ValueError(literal)
    return value


def _read_text(literal: str) -> str:
    if literal[0] != "'":
        raise ValueError(literal)
    text = literal[1:-1]
    return text.replace("''", "'") if "'" in text else text


def _read_bool(literal: str) -> bool:
    return _BOOLS[literal]


_FEW = 64
_NULLS = frozenset({"null", "NULL"})
_PLAIN_INTEGER = re.compile(r"-?\d{1,19}", re.ASCII)
_PLAIN_DECIMAL = re.compile(r"0|-?[1-9]\d*(?:\.\d*)?|\d*\.\d{1,20}", re.ASCII)
_BOOLS = {"true": True, "false": False, "TRUE": True, "FALSE": False, "'t'": True, "'f'": False}
_PLAINEST: dict[str, Callable[[str], object]] = {
    "int2": _read_integer,
    "int4": _read_integer,
    "int8": _read_integer,
    "float8": _read_float,
    "text": _read_text,
    "varchar": _read_text,
    "bool": _read_bool,
}


def _read_literals(kind: SqlType, column: LiteralColumn) -> list[str | None] | None:
    """Returns what the type's input function gets for each literal; None if another conversion would apply."""
    literals = column.literals
    starts = {each[0] for each in literals}
    words = {each.lower() for each in literals if each[0] in "nNtTfF"} if starts & set("nNtTfF") else set()
    if words - {"null"} and kind.name != "bool":
        return None
    numbers = starts & set("-.0123456789")
    if numbers:
        if kind.name not in _NUMBERS:
            return None
        plain = [each for each in literals if each[0] not in "'nN"] if "'" in starts or words else literals
        if kind.name in _INTEGERS and not _WHOLE.fullmatch("".join(plain)):
            return None  # it is rounded
    texts: list[str | None] = list(literals)
    if "'" in starts:
        texts = [each[1:-1].replace("''", "'") if each[0] == "'" else each for each in literals]
        if kind.name in _MOMENTS and not all(each[1:2].isdigit() for each in literals if each[0] == "'"):
            return None  # now, today, infinity
    if words:
        nulls = [each[0] in "nN" for each in literals]
        texts = [None if null else text for text, null in zip(texts, nulls, strict=True)]
    if numbers:
        texts = [None if text is None else text.replace(" ", "") for text in texts]
        if kind.name in FLOATS and "-" in starts:
            # An unquoted number is exact first, and has no negative zero
            signed = [each[0] == "-" for each in literals]
            pairs = zip(texts, signed, strict=True)
            texts = [text[1:] if text and minus and _ZERO.fullmatch(text, 1) else text for text, minus in pairs]
    return texts
