"""Functions in PL/CUDA: a process of the session checks their bodies; the session calls those of whole tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from gpudb.catalog.routines import Routine
from gpudb.errors import FeatureNotSupported, GpudbError, SqlError
from gpudb.plcuda.calls import call_columns, call_table
from gpudb.plcuda.source import CudaFunction, check_function
from gpudb.plcuda.table_arguments import to_items
from gpudb.plcuda.tables import MATRIX, CudaTable, check_table
from gpudb.plpgsql.context import add_context
from gpudb.session.context import Context
from gpudb.session.execution.routines.children import get_child, get_memory_limit
from gpudb.session.execution.routines.column_calls import ColumnCalls
from gpudb.session.execution.routines.literals import get_literal_value, make_table
from gpudb.sql.bind.expressions.routines import get_device_code, runs_on_device
from gpudb.sql.bound import Expr
from gpudb.types import SqlType
from gpudb.values.matrix import to_numpy

_MODULE = "gpudb.engine.gpu.fused.cuda.body_check"
_ON_GPU = "gpudb.engine.gpu.fused.cuda.table_calls"
_GPU = "gpu"
"""The engine whose server has a GPU."""


class CudaLanguage(ColumnCalls):
    """PL/CUDA (see `languages.Language`). Engines run the calls of queries."""

    def check(self, context: Context, routine: Routine) -> None:
        """Compiles a body; 42601. 0A000 for types that have none in C++, and for procedures."""
        if routine.kind != "f" or (routine.outputs and not routine.returns_set) or routine.rows_of:
            raise FeatureNotSupported("PL/CUDA functions return single values, or sets by RETURNS TABLE or SETOF")
        function: CudaFunction | CudaTable
        if routine.returns_set:
            function = _get_table(routine)
            check_table(function)
        else:
            function = get_device_code(routine)
            check_function(function)
        get_child(context, _MODULE).call("check", (function,), context.cancel.check)

    def call(
        self, context: Context, routine: Routine, types: Sequence[SqlType], args: Sequence[Expr], *, is_atomic: bool
    ) -> pa.Table | None:
        """Calls a function with literals."""
        if not routine.returns_set:
            return super().call(context, routine, types, args, is_atomic=is_atomic)
        values = [[get_literal_value(context, arg)] for arg in args]
        arrays = [make_table([arg.type], [value]).column(0) for arg, value in zip(args, values, strict=True)]
        return self.call_table(context, routine, [each.combine_chunks() for each in arrays])

    def call_table(self, context: Context, routine: Routine, arguments: Sequence[pa.Array]) -> pa.Table:
        """Calls a table function with arguments as columns of one row."""
        table = _get_table(routine)
        pairs = zip(table.parameters, arguments, strict=True)
        given = [_read_argument(item, array) for (_, item), array in pairs]
        try:
            if context.session.database.engine.name == _GPU:
                return call_table(table, given, context.cancel.check, module=_ON_GPU)
            return call_table(table, given, context.cancel.check, get_memory_limit(context))
        except GpudbError as error:
            add_context(error, error.__traceback__)
            raise

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


def _get_table(routine: Routine) -> CudaTable:
    parameters = tuple((each.name, each.type) for each in routine.inputs)
    columns = tuple((each.name, each.type) for each in routine.outputs) or (("result", routine.result),)
    return CudaTable(routine.name, parameters, columns, routine.body, routine.strict)


def _read_argument(item: SqlType, array: pa.Array) -> Any:
    """Returns an argument as `plcuda.child.call_table` takes it; 22004 for NULL in an array."""
    if not array.is_valid()[0].as_py():
        return None
    if item.name == MATRIX:
        return to_numpy(array[0].as_buffer())
    if item.element is None:
        return to_items(item, array)[0].item()
    items = array.flatten()
    if items.null_count:
        raise SqlError.of("null_value_not_allowed", "arrays that PL/CUDA functions take must not contain nulls")
    return to_items(item.element, items)
