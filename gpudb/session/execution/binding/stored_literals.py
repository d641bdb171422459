"""Literals in definitions that are kept as text: they must mean the same whatever the session's DateStyle."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.errors import FeatureNotSupported, GpudbError
from gpudb.sql.parse.parser import RawStatement, children
from gpudb.types import DATE, INTERVAL, TIMESTAMPTZ
from gpudb.values import parse_text
from gpudb.values.datetime_style import get_style, use_style

_DEFINING = frozenset(
    """AlterDomainStmt AlterPolicyStmt AlterTableStmt CreateDomainStmt CreateFunctionStmt CreatePolicyStmt CreateStmt
    CreateTableAsStmt CreateTrigStmt ViewStmt""".split()
)
"""Statements that keep expressions or queries as text, which is bound in the default style from then on."""
_READERS: tuple[Callable[[str], object], ...] = (
    lambda text: parse_text(DATE, text),
    lambda text: parse_text(TIMESTAMPTZ, text),
    lambda text: parse_text(INTERVAL, text),
)


def check_stored_literals(statement: RawStatement) -> None:
    """Raises 0A000 for a definition with a text that the session reads as another date or interval than others."""
    node: Any = statement.node
    if statement.kind not in _DEFINING or not get_style().reads_otherwise:
        return
    if statement.kind == "CreateTableAsStmt" and node.objtype != pg.OBJECT_MATVIEW:
        return
    for text in _iter_texts(node):
        for read in _READERS:
            if (value := _try(read, text)) is not None:
                with use_style():
                    other = _try(read, text)
                if other != value:
                    message = f'a literal that depends on DateStyle or IntervalStyle, "{text}", is not supported'
                    hint = "Write dates as YYYY-MM-DD, and the sign of every part of an interval."
                    raise FeatureNotSupported(f"{message} in a definition", hint=hint)


def _try(read: Callable[[str], object], text: str) -> object:
    try:
        return read(text)
    except GpudbError:
        return None


def _iter_texts(message: Any) -> Iterator[str]:
    if message.DESCRIPTOR.name == "A_Const":
        if message.WhichOneof("val") == "sval":
            yield message.sval.sval
        return
    for each in children(message):
        yield from _iter_texts(each)
