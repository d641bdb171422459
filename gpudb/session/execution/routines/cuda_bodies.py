"""Functions in PL/CUDA: a process of the session checks their bodies; calls outside of queries run on the host."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from gpudb.catalog.routines import Routine
from gpudb.errors import FeatureNotSupported, GpudbError
from gpudb.plcuda.calls import call_columns
from gpudb.plcuda.source import check_function
from gpudb.plpgsql.context import add_context
from gpudb.session.context import Context
from gpudb.session.execution.routines.children import get_child, get_memory_limit
from gpudb.session.execution.routines.column_calls import ColumnCalls
from gpudb.sql.bind.expressions.routines import get_device_code, runs_on_device

_MODULE = "gpudb.engine.gpu.fused.cuda.body_check"


class CudaLanguage(ColumnCalls):
    """PL/CUDA (see `languages.Language`). Engines run the calls of queries."""

    def check(self, context: Context, routine: Routine) -> None:
        """Compiles a body; 42601. 0A000 for what is no scalar function of the types that have one in C++."""
        if routine.kind != "f" or routine.returns_set or routine.outputs:
            raise FeatureNotSupported("PL/CUDA functions take and return single values")
        function = get_device_code(routine)
        check_function(function)
        get_child(context, _MODULE).call("check", (function,), context.cancel.check)

    def call_columns(self, context: Context, routine: Routine, arguments: Sequence[pa.Array], count: int) -> pa.Array:
        """Calls a function for the rows of columns; 0A000 for one of composites."""
        if not runs_on_device(routine):
            message = f"function {routine.signature} has composites as parameters or result: only aggregates call it"
            raise FeatureNotSupported(message)
        try:
            function = get_device_code(routine)
            return call_columns(function, arguments, count, context.cancel.check, get_memory_limit(context))
        except GpudbError as error:
            add_context(error, error.__traceback__)
            raise
