"""Functions in PL/CUDA: a process of the session checks their bodies, and runs them over columns on the host."""

from __future__ import annotations

from collections.abc import Sequence
from types import FrameType

import pyarrow as pa

from gpudb.catalog.routines import Routine
from gpudb.errors import FeatureNotSupported, GpudbError
from gpudb.plcuda.source import CudaFunction, check_types
from gpudb.plpgsql.context import add_context, register_frame
from gpudb.session.context import Context
from gpudb.session.execution.routines.children import get_child
from gpudb.session.execution.routines.column_calls import ColumnCalls

_MODULE = "gpudb.plcuda.child"


class CudaLanguage(ColumnCalls):
    """PL/CUDA (see `languages.Language`)."""

    def check(self, context: Context, routine: Routine) -> None:
        """Compiles a body; 42601. 0A000 for what is no scalar function of the types that have one in C++."""
        if routine.kind != "f" or routine.returns_set or routine.outputs:
            raise FeatureNotSupported("PL/CUDA functions take and return single values")
        function = _define(routine)
        check_types(function)
        get_child(context, _MODULE).call("check", (function,), context.cancel.check)

    def call_columns(self, context: Context, routine: Routine, arguments: Sequence[pa.Array], count: int) -> pa.Array:
        """Calls a function for the rows of columns."""
        try:
            found: pa.Array = get_child(context, _MODULE).call(
                "call_columns", (_define(routine), tuple(arguments), count), context.cancel.check
            )
            return found
        except GpudbError as error:
            add_context(error, error.__traceback__)
            raise


def _define(routine: Routine) -> CudaFunction:
    parameters = tuple((each.name, each.type) for each in routine.inputs)
    return CudaFunction(routine.name, parameters, routine.result, routine.body, routine.strict)


def _describe(frame: FrameType) -> str:
    return f'PL/CUDA function "{frame.f_locals["routine"].name}"'


register_frame(CudaLanguage.call_columns.__code__, _describe)
