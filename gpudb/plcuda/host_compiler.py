"""The system's C++ compiler, whose code runs bodies on the host, and the places in bodies that compilers name."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from gpudb.cache_folder import cache_folder
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.plcuda.source import BODY, CudaFunction, write_host_source
from gpudb.plcuda.tables import CudaTable, write_host_table

_FLAGS = ("-std=c++17", "-O2", "-ffp-contract=off", "-fPIC", "-shared", "-w", "-fno-diagnostics-color")
_ERROR = re.compile(rf"^{BODY}:(\d+):(\d+): (?:fatal )?error: (.*)$", re.MULTILINE)


def check_on_host(function: CudaFunction | CudaTable) -> None:
    """Compiles a body for the host alone; 42601 with the place in the body."""
    source = write_host_table(function) if isinstance(function, CudaTable) else write_host_source(function)
    log = _compile(source, ["-fsyntax-only"])
    if log is not None:
        found = _ERROR.search(log)
        if found is None:
            raise make_syntax_error(log.strip().partition("\n")[0], None)
        raise make_syntax_error(found[3], find_position(function, int(found[1]), int(found[2])))


def find_position(function: CudaFunction | CudaTable, line: int, column: int) -> int | None:
    """Returns the position in a body of a line and column of it, both from 1; None beyond the body."""
    lines = function.body.split("\n")
    if line > len(lines):
        return None
    return sum(len(each) + 1 for each in lines[: line - 1]) + max(1, column)


def make_syntax_error(message: str, position: int | None) -> SqlError:
    """Returns 42601 for a place in a body."""
    error = SqlError.of("syntax_error", message)
    error.position = position
    return error


def compile_for_host(source: str, name: str) -> Path:
    """Returns the library of a source, from the cache if it is there; 0A000 without a compiler, or if it refuses.

    `name` is that of the function, for the error.
    """
    text = "\0".join((source, *_FLAGS))
    made = cache_folder() / "host" / f"{hashlib.sha256(text.encode()).hexdigest()[:40]}.so"
    if made.exists():
        return made
    made.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=made.parent) as folder:
        path = Path(folder) / "made.so"
        log = _compile(source, ["-o", str(path)])
        if log is not None:
            found = _ERROR.search(log)
            detail = f"line {found[1]}: {found[3]}" if found is not None else log.strip().partition("\n")[0]
            hint = "On the host, bodies are compiled as C++: use no intrinsics of CUDA."
            raise FeatureNotSupported(f"function {name} cannot run without a GPU", detail=detail, hint=hint)
        path.replace(made)  # another process reads no half of it
    return made


def _compile(source: str, options: list[str]) -> str | None:
    """Runs the C++ compiler: what it says of a faulty source, None if all is well. 0A000 without a compiler."""
    compiler = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        hint = "Install a C++ compiler, such as g++, on the server."
        raise FeatureNotSupported("PL/CUDA functions on the host need a C++ compiler", hint=hint)
    command = [compiler, *_FLAGS, "-x", "c++", "-", *options]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    return done.stderr or "the compiler failed" if done.returncode else None
