"""Emits PL/CUDA functions and aggregates into a kernel's source, and the calls of them for one row."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gpudb.engine.gpu.fused.codegen.kernel_source import Code, StatementWriter
from gpudb.engine.gpu.fused.ir.pipeline import BodyCall, Expr, FoldInput
from gpudb.engine.gpu.fused.ir.traversal import functions_called
from gpudb.plcuda.aggregates import CudaAggregate, write_aggregate
from gpudb.plcuda.source import CudaFunction, c_type, write_function, write_macros


def write_functions(exprs: Iterable[Expr]) -> tuple[str, str]:
    """Returns the declarations of the functions that expressions call, and their definitions, for after the kernel.

    So a body's macros are none of the kernel's.
    """
    exprs = list(exprs)
    pairs = [write_function(each, _label(each)) for each in functions_called(exprs)]
    folds = dict.fromkeys(each.aggregate for each in exprs if isinstance(each, FoldInput))
    pairs += [write_aggregate(each, fold_label(each)) for each in folds]
    if not pairs:
        return "", ""
    declared = "".join(f"{declaration}\n" for declaration, _ in pairs)
    return declared, "\n" + write_macros() + "".join(definition for _, definition in pairs)


def _label(function: CudaFunction) -> str:
    return f"plcuda_{function.number:x}"


def fold_label(aggregate: CudaAggregate) -> str:
    """Returns the name of an aggregate in a kernel."""
    return f"fold_{aggregate.number:x}"


def emit_body_call(out: StatementWriter, expr: BodyCall, kind: str, emit: Callable[[Expr], Code]) -> Code:
    """Emits a call: its value of the C++ type `kind`, and whether it is not NULL; `emit` emits arguments."""
    function = expr.function
    arguments, known = [], []
    for arg, (_, item) in zip(expr.args, function.parameters, strict=True):
        value, valid = emit(arg)
        arguments.append(f"({c_type(item)}){value}")
        if not function.strict:
            arguments.append("false" if valid is None else f"!{valid}")
        elif valid is not None:
            known.append(valid)
    made, is_null, error = out.new_name(), out.new_name(), out.new_name()
    out.emit(f"{kind} {made} = 0; bool {is_null} = {'true' if known else 'false'}; int {error} = 0;")
    call = f"{made} = ({kind}){_label(function)}({', '.join([*arguments, is_null, error])});"
    if known:
        with out.block(f"if ({' & '.join(dict.fromkeys(known))})"):
            out.emit(f"{is_null} = false;")
            out.emit(call)
    else:
        out.emit(call)
    if function.errors:
        out.emit(f"if ({error}) error = max(error, {expr.code - 1} + {error});")
    return made, f"(!{is_null})" if expr.nullable else None
