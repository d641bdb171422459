"""Functions and aggregates in PL/CUDA as DuckDB calls them: `gpudb.duckdb.udf.device_code` runs them on the host."""

from __future__ import annotations

from functools import lru_cache, partial

from gpudb.functions.library import Function
from gpudb.functions.registry import STATEMENT, Implementation, Operands, declare_device_code


@lru_cache(1024)
def implement_device_code(function: Function) -> Implementation:
    """Returns how a function or aggregate is computed whose `code` or `fold` is device code."""
    if function.fold is not None:
        return Implementation(partial(_fold, function))
    code = function.code
    assert code is not None

    def call(operands: Operands) -> str:
        pairs = zip(operands.sql, function.args, strict=True)
        arguments = [f"CAST({sql} AS {item.duckdb})" for sql, item in pairs]
        first = f"{code.number}::BIGINT"
        return f"gpudb_{function.result.name}_code({', '.join([first, STATEMENT, *arguments])})"

    return Implementation(call)


def _fold(function: Function, operands: Operands) -> str:
    assert function.fold is not None
    pairs = enumerate(zip(operands.sql, function.args, strict=True))
    fields = [f"f{n} := CAST({sql} AS {item.duckdb})" for n, (sql, item) in pairs]
    rows = operands.call("list", f"struct_pack({', '.join(fields)})" if fields else "true")
    return f"gpudb_{function.result.name}_fold({function.fold.number}::BIGINT, {STATEMENT}, {rows})"


declare_device_code(implement_device_code)
