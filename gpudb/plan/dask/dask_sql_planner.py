"""dask-sql's planner: from text over relations of opaque values to a relational plan.

This is the only file that loads dask-sql, on first use. Only its SQL dialect, parser, planner and optimiser (a
DataFusion of 2024) are used; they see names, numbers of columns and numbers of rows. The optimiser takes most of the
time, and its work is done before and after it, so it runs only where plans are compared with its own.
"""

from __future__ import annotations

import logging
import re
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import Any

from gpudb.plan.dask.symbols import MAX_ARGUMENTS
from gpudb.plan.errors import NotSupportedOnWorkers

Relations = Mapping[str, tuple[Sequence[int], int]]
"""By relation, the numbers of the columns that a text reads, and the relation's number of rows."""

_LOCK = threading.Lock()
_NATIVE = "dask_sql._datafusion_lib"
_CATALOG, _SCHEMA = "dask_sql", "root"
_CALLS = re.compile(r"\b([eb]\d+)\(")


class _Planner:
    """One planning context. All values of the text have type text, its functions are opaque: see `symbols`."""

    def __init__(self) -> None:
        native = _load_native()
        self._schema, self._table, self._unoptimized = (
            native.DaskSchema,
            native.DaskTable,
            native.DFOptimizationException,
        )
        self._text = native.DaskTypeMap(native.SqlTypeName.VARCHAR)
        results = {
            "e": self._text.getDataType(),
            "b": native.DaskTypeMap(native.SqlTypeName.BOOLEAN).getDataType(),
        }
        # Each statement registers those that it calls: name, arguments, result.
        self._functions = {
            f"{kind}{number}": ([results["e"]] * (number + 1), result)
            for number in range(MAX_ARGUMENTS + 1)
            for kind, result in results.items()
        }
        # Its join reordering by row counts loses conditions between joins, so it is switched off.
        config = native.DaskSQLOptimizerConfig(False, None, 0, None, None)
        self._context = native.DaskSQLContext(_CATALOG, _SCHEMA, config)

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


def _load_native() -> Any:
    """Returns dask-sql's planner, the library in Rust alone.

    The package around it imports pandas, SciPy, SQLAlchemy, a web server and a shell, which takes seconds, and changes
    Dask's configuration for the whole process.
    """
    found = sys.modules.get(_NATIVE)
    if found is None:
        package = find_spec("dask_sql")
        if package is None:
            raise ModuleNotFoundError("No module named 'dask_sql'", name="dask_sql")
        spec = PathFinder.find_spec(_NATIVE, package.submodule_search_locations)
        if spec is None or spec.loader is None:
            raise ModuleNotFoundError(f"No module named {_NATIVE!r}", name=_NATIVE)
        # It can be loaded once a process: the package itself, if something imports it, has to find it.
        found = sys.modules[_NATIVE] = module_from_spec(spec)
        spec.loader.exec_module(found)
    # It logs a warning for each rule that it skips.
    logging.getLogger("dask_sql").setLevel(logging.ERROR)
    return found


@cache
def _planner() -> _Planner:
    return _Planner()


def warm_up() -> None:
    """Loads the planner ahead of the first statement."""
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
