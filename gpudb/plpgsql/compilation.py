"""Compilation of a body: its tree becomes one Python function, whose lines stand for statements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gpudb.errors import FeatureNotSupported
from gpudb.plpgsql import blocks, conditions
from gpudb.plpgsql.compiler import Compiler, Shape
from gpudb.plpgsql.context import Places, register_body
from gpudb.plpgsql.host import Host
from gpudb.plpgsql.runtime import Runtime
from gpudb.plpgsql.tree import Body

Run = Callable[..., Any]


@dataclass(eq=False)
class Compiled:
    """A compiled body: `run` takes the runtime and the arguments."""

    run: Run
    signature: str
    ends_transactions: bool


def compile_body(body: Body, host: Host, signature: str, shape: Shape) -> Compiled:
    """Returns the compiled body of a routine with this signature; 0A000 for one that is nested too deeply."""
    compiler = Compiler(body, host, signature, shape)
    arguments = ", ".join(["rt", *(each.local for each in body.parameters)])
    compiler.lines.append(f"def run({arguments}):")
    compiler.places.append("")
    compiler.at_phase("")
    compiler.write("cancel = rt.cancel")
    compiler.write(f"{body.found.local} = False")
    blocks.write_block(compiler, body.block)
    compiler.at_phase("")
    if shape.kind in {"value", "row"} and not shape.outputs:
        compiler.write("raise rt.no_return()")
    elif shape.kind == "trigger":
        compiler.write("raise rt.no_trigger_return()")
    else:
        compiler.write_return_outputs()
    namespace = {**compiler.names.globals, "matches": conditions.matches}
    source = "\n".join(compiler.lines) + "\n"
    try:
        exec(compile(source, f"<plpgsql {signature}>", "exec"), namespace)
    except SyntaxError as error:
        raise FeatureNotSupported(f"PL/pgSQL statements are nested too deeply: {error.msg}") from None
    run: Any = namespace["run"]
    compiled = Compiled(run, signature, body.ends_transactions)
    register_body(compiled, run.__code__, Places(signature, tuple(compiler.places)))
    return compiled


def make_runtime(host: Host, compiled: Compiled) -> Runtime:
    """Returns the runtime of one call."""
    return Runtime(host, keeps_rows=compiled.ends_transactions)
