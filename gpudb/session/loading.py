"""load_data: a SELECT whose only target is a call of it loads files into a table."""

from __future__ import annotations

from gpudb.session.context import Context
from gpudb.session.results import Result, ResultColumn
from gpudb.sql.parse import RawStatement
from gpudb.types import INT8

LOAD_COLUMNS = (ResultColumn("load_data", INT8),)


def is_load_call(statement: RawStatement) -> bool:
    return False


def load_call(context: Context) -> Result | None:
    return None
