"""dask-sql's planner: from text over relations of opaque values to a relational plan.

This is the only file that imports dask-sql, and it does so on first use, since that takes seconds. Only its SQL
dialect, parser, planner and optimiser (a DataFusion of 2024) are used; they see names, numbers of columns and numbers
of rows. The optimiser takes most of the time, and its work is done before and after it, so it runs only where plans are
compared with its own.
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
from gpudb.plan.errors import NotSupportedOnWorkers

Relations = Mapping[str, tuple[Sequence[int], int]]
"""By relation, the numbers of the columns that a text reads, and the relation's number of rows."""

_LOCK = threading.Lock()
_SCHEMA = "root"
_CALLS = re.compile(r"\b([eb]\d+)\(")


class _Planner:
    """One planning context. All values of the text have type text, its functions are opaque: see `symbols`."""

    def __init__(self) -> None:
        _register_modules()
        import dask
        import numpy

        before = dask.config.get("dataframe", {}).copy()
        from dask_sql import Context
        from dask_sql._datafusion_lib import DaskSchema, DaskSQLOptimizerConfig, DaskTable, DFOptimizationException
        from dask_sql.mappings import python_to_sql_type

        # The import changes Dask's configuration for the whole process; none of its frames are used here.
        dask.config.set({"dataframe": before})
        # It logs a warning for each rule that it skips.
        logging.getLogger("dask_sql").setLevel(logging.ERROR)
        self._schema, self._table, self._unoptimized = DaskSchema, DaskTable, DFOptimizationException
        self._text = python_to_sql_type(numpy.dtype("O"))
        results = {"e": self._text.getDataType(), "b": python_to_sql_type(numpy.bool_).getDataType()}
        # Each statement registers those that it calls: name, arguments, result.
        self._functions = {
            f"{kind}{number}": ([results["e"]] * (number + 1), result)
            for number in range(MAX_ARGUMENTS + 1)
            for kind, result in results.items()
        }
        self._context = Context(logging.ERROR).context
        # Its join reordering by row counts loses conditions between joins, so it is switched off.
        self._context.set_optimizer_config(DaskSQLOptimizerConfig(False, None, 0, None, None))

    def plan(self, text: str, relations: Relations, *, optimize: bool) -> Any:
        """Returns the root of dask-sql's plan."""
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


def _register_modules() -> None:
    """Registers modules that dask-sql 2024.5 imports and that are missing or unwanted.

    `dask_expr` has since moved into Dask. Its list of models imports all of scikit-learn, XGBoost and LightGBM where
    they are installed, which takes many seconds.
    """
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


def warm_up() -> None:
    """Imports the planner ahead of the first statement."""
    with _LOCK:
        _planner()


def plan_text(text: str, relations: Relations, *, optimize: bool = False) -> Any:
    """Returns dask-sql's plan of a text, optimised with `optimize`; raises NotSupportedOnWorkers if dask-sql refuses
    the text.
    """
    with _LOCK:
        try:
            return _planner().plan(text, relations, optimize=optimize)
        except Exception as error:
            if type(error).__name__ not in {"ParsingException", "RuntimeError"}:
                raise
            logging.getLogger(__name__).debug("the planner rejects %s: %s", text, error)
            raise NotSupportedOnWorkers("a subquery that the planner cannot decorrelate") from error
