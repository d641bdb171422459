"""dask-sql's planner: text over relations of opaque values in, a decorrelated and ordered relational plan out.

The only file that imports dask-sql, and it does so late: that takes seconds. Its SQL dialect, parser and optimiser (a
DataFusion of 2024) are all that is used of it; what it plans over are names, numbers of columns and numbers of rows.
"""

from __future__ import annotations

import logging
import re
import sys
import threading
from collections.abc import Mapping
from functools import cache
from typing import Any

from gpudb.plan.errors import NotCarried
from gpudb.plan.symbols import MAX_ARGUMENTS

_LOCK = threading.Lock()
_CALLS = re.compile(r"\b([eb]\d+)\(")


class _Frame:
    """What the planner wants of a table: names and types of its columns."""

    def __init__(self, width: int) -> None:
        import numpy
        import pandas

        self.columns = [f"c{number}" for number in range(width)]
        self.dtypes = pandas.Series({name: numpy.dtype("O") for name in self.columns}, dtype=object)


class _Planner:
    """One planning context. The text's values are all text, its functions opaque: see `symbols`."""

    def __init__(self) -> None:
        _import_moved_modules()
        import dask
        import numpy

        before = dask.config.get("dataframe", {}).copy()
        from dask_sql import Context
        from dask_sql.datacontainer import ColumnContainer, DataContainer, Statistics

        # Importing it changes how every Dask program of this process works; nothing here is one of its frames.
        dask.config.set({"dataframe": before})
        # It warns of statements without tables, and of rules that it leaves out.
        logging.getLogger("dask_sql").setLevel(logging.ERROR)
        self._dask = dask
        self._container, self._columns, self._statistics = DataContainer, ColumnContainer, Statistics
        self._context = Context(logging.ERROR)
        self._schema = self._context.schema["root"]
        for number in range(MAX_ARGUMENTS + 1):
            arguments = [(f"x{place}", str) for place in range(number + 1)]
            self._context.register_function(_opaque, f"e{number}", arguments, str)
            self._context.register_function(_opaque, f"b{number}", arguments, numpy.bool_)
        # It declares all that are registered for each statement: it is given those that a text calls.
        self._functions = {each.name: each for each in self._schema.function_lists}

    def plan(self, text: str, relations: Mapping[str, tuple[int, int]]) -> Any:
        """The root of dask-sql's plan; `relations` gives each name's number of columns and of rows."""
        self._schema.tables.clear()
        self._schema.statistics.clear()
        called = set(_CALLS.findall(text))
        self._schema.function_lists = [each for name, each in self._functions.items() if name in called]
        for name, (width, rows) in relations.items():
            frame = _frame(max(width, 1))
            self._schema.tables[name] = self._container(frame, self._columns(frame.columns))
            self._schema.statistics[name] = self._statistics(rows)
        # Its join reordering by row counts loses conditions that stand between joins: it is told to leave all alone.
        with self._dask.config.set({"sql.max_fact_tables": 0, "sql.dynamic_partition_pruning": False}):
            return self._context._get_ral(text)[0]


@cache
def _frame(width: int) -> _Frame:
    return _Frame(width)


def _opaque(*_: object) -> object:
    raise AssertionError("the planner's functions are never called")


def _import_moved_modules() -> None:
    """dask-sql 2024.5 imports `dask_expr`, which has since moved into Dask."""
    import dask.dataframe.dask_expr as moved
    import dask.dataframe.dask_expr.io as moved_io
    import dask.dataframe.dask_expr.io.parquet as moved_parquet

    names = {"dask_expr": moved, "dask_expr.io": moved_io, "dask_expr.io.parquet": moved_parquet}
    for name, module in names.items():
        sys.modules.setdefault(name, module)


@cache
def _planner() -> _Planner:
    return _Planner()


def warm() -> None:
    """Imports the planner, so that no statement waits for it."""
    with _LOCK:
        _planner()


def relational_plan(text: str, relations: Mapping[str, tuple[int, int]]) -> Any:
    """dask-sql's plan of a text; NotCarried where it refuses one (a correlation that it cannot undo)."""
    with _LOCK:
        try:
            return _planner().plan(text, relations)
        except Exception as error:
            name = type(error).__name__
            if name not in {"ParsingException", "OptimizationException", "RuntimeError", "DFOptimizationException"}:
                raise
            logging.getLogger(__name__).debug("the planner refuses %s: %s", text, error)
            raise NotCarried("a subquery that the planner cannot undo") from error
