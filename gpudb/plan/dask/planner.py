"""dask-sql's planner: text over relations of opaque values in, a relational plan out.

The only file that imports dask-sql, and it does so late: that takes seconds. Its SQL dialect, parser, planner and
optimiser (a DataFusion of 2024) are all that is used of it; what it plans over are names, numbers of columns and
numbers of rows. Its optimiser takes most of the time, and what it did is done before and after it: it is asked where
plans are compared with its own.
"""

from __future__ import annotations

import logging
import re
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from types import ModuleType
from typing import Any

from gpudb.plan.dask.symbols import MAX_ARGUMENTS
from gpudb.plan.errors import NotCarried

Relations = Mapping[str, tuple[Sequence[int], int]]
"""By name, the numbers of the columns that a text reads of a relation, and how many rows that has."""

_LOCK = threading.Lock()
_SCHEMA = "root"
_CALLS = re.compile(r"\b([eb]\d+)\(")


class _Planner:
    """One planning context. The text's values are all text, its functions opaque: see `symbols`."""

    def __init__(self) -> None:
        _place_modules()
        import dask
        import numpy

        before = dask.config.get("dataframe", {}).copy()
        from dask_sql import Context
        from dask_sql._datafusion_lib import DaskSchema, DaskSQLOptimizerConfig, DaskTable, DFOptimizationException
        from dask_sql.mappings import python_to_sql_type

        # Importing it changes how every Dask program of this process works; nothing here is one of its frames.
        dask.config.set({"dataframe": before})
        # It warns of rules that it leaves out.
        logging.getLogger("dask_sql").setLevel(logging.ERROR)
        self._schema, self._table, self._unoptimized = DaskSchema, DaskTable, DFOptimizationException
        self._text = python_to_sql_type(numpy.dtype("O"))
        results = {"e": self._text.getDataType(), "b": python_to_sql_type(numpy.bool_).getDataType()}
        # Each statement is told of those that it calls: name, arguments, result.
        self._functions = {
            f"{kind}{number}": ([results["e"]] * (number + 1), result)
            for number in range(MAX_ARGUMENTS + 1)
            for kind, result in results.items()
        }
        self._context = Context(logging.ERROR).context
        # Its join reordering by row counts loses conditions that stand between joins: it is told to leave all alone.
        self._context.set_optimizer_config(DaskSQLOptimizerConfig(False, None, 0, None, None))

    def plan(self, text: str, relations: Relations, *, optimize: bool) -> Any:
        """The root of dask-sql's plan."""
        schema = self._schema(_SCHEMA)
        for name, (columns, rows) in relations.items():
            held = [(f"c{number}", self._text) for number in columns]
            schema.add_table(self._table(_SCHEMA, name, float(rows), held, None))
        for name in set(_CALLS.findall(text)):
            schema.add_or_overload_function(name, *self._functions[name], False)
        self._context.register_schema(_SCHEMA, schema)
        (statement,) = self._context.parse_sql(text)
        made = self._context.logical_relational_algebra(statement)
        if not optimize:
            return made
        try:
            return self._context.optimize_relational_algebra(self._context.run_preoptimizer(made))
        except self._unoptimized:
            return made


def _place_modules() -> None:
    """What dask-sql 2024.5 imports and is not there, or is not wanted: `dask_expr` has since moved into Dask; its list
    of models imports all of scikit-learn, XGBoost and LightGBM where they are installed, which takes many seconds."""
    import dask.dataframe.dask_expr as moved
    import dask.dataframe.dask_expr.io as moved_io
    import dask.dataframe.dask_expr.io.parquet as moved_parquet

    models: Any = ModuleType("dask_sql.physical.utils.ml_classes")
    models.get_cpu_classes = models.get_gpu_classes = dict
    names = {"dask_expr": moved, "dask_expr.io": moved_io, "dask_expr.io.parquet": moved_parquet}
    names[models.__name__] = models
    for name, module in names.items():
        sys.modules.setdefault(name, module)


@cache
def _planner() -> _Planner:
    return _Planner()


def warm() -> None:
    """Imports the planner, so that no statement waits for it."""
    with _LOCK:
        _planner()


def relational_plan(text: str, relations: Relations, *, optimize: bool = False) -> Any:
    """dask-sql's plan of a text, to `optimize` or as it stands; NotCarried where it refuses one."""
    with _LOCK:
        try:
            return _planner().plan(text, relations, optimize=optimize)
        except Exception as error:
            if type(error).__name__ not in {"ParsingException", "RuntimeError"}:
                raise
            logging.getLogger(__name__).debug("the planner refuses %s: %s", text, error)
            raise NotCarried("a subquery that the planner cannot undo") from error
