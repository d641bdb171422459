"""Compilers of PL/CUDA: NVRTC, which checks a body, and the system's C++ compiler, whose code runs on the host."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from gpudb.engine.gpu.fused.cuda import nvrtc
from gpudb.errors import FeatureNotSupported, GpudbError, SqlError
from gpudb.plcuda.source import BODY, CudaFunction, write_device_source, write_host_source

_ARCHITECTURE = "sm_90"
_FLAGS = ("-std=c++17", "-O2", "-ffp-contract=off", "-fPIC", "-shared", "-w", "-fno-diagnostics-color")
_DEVICE_ERROR = re.compile(rf"^{BODY}\((\d+)\): (?:catastrophic )?error(?: #\S+)?: (.*)\n(.*)\n( *\^)?", re.MULTILINE)
_HOST_ERROR = re.compile(rf"^{BODY}:(\d+):(\d+): (?:fatal )?error: (.*)$", re.MULTILINE)
_MISSING = "NVRTC is not there"


def check_body(function: CudaFunction) -> None:
    """Compiles a body for GPUs, or for the host where NVRTC is not installed; 42601 with the place in the body."""
    try:
        nvrtc.compile_source(write_device_source(function), {}, _ARCHITECTURE)
    except GpudbError as error:
        if error.message.startswith(_MISSING):
            _check_on_host(function)
            return
        raise _read_device_error(function, error.message) from None


def _read_device_error(function: CudaFunction, log: str) -> SqlError:
    log = log.partition("failed: ")[2] or log
    found = _DEVICE_ERROR.search(log)
    if found is None:
        return _syntax_error(log.partition("\n")[0], None)
    line, shown, caret = int(found[1]), found[3], found[4]
    text = (function.body.split("\n") + [""])[line - 1] if line <= function.body.count("\n") + 1 else ""
    column = 1
    if caret and text.strip() and text.strip() in shown:
        column = len(caret) - shown.index(text.strip()) + len(text) - len(text.lstrip())
    return _syntax_error(found[2], _find_position(function, line, column))


def _find_position(function: CudaFunction, line: int, column: int) -> int | None:
    lines = function.body.split("\n")
    if line > len(lines):
        return None
    return sum(len(each) + 1 for each in lines[: line - 1]) + max(1, column)


def _syntax_error(message: str, position: int | None) -> SqlError:
    error = SqlError.of("syntax_error", message)
    error.position = position
    return error


def _check_on_host(function: CudaFunction) -> None:
    log = _compile(write_host_source(function), ["-fsyntax-only"])
    if log is not None:
        found = _HOST_ERROR.search(log)
        if found is None:
            raise _syntax_error(log.strip().partition("\n")[0], None)
        raise _syntax_error(found[3], _find_position(function, int(found[1]), int(found[2])))


def compile_for_host(function: CudaFunction, folder: Path, name: str) -> Path:
    """Returns the library in `folder` with the function for the host; 0A000 without a compiler, or if it refuses."""
    made = folder / f"{name}.so"
    log = _compile(write_host_source(function), ["-o", str(made)])
    if log is not None:
        found = _HOST_ERROR.search(log)
        detail = f"line {found[1]}: {found[3]}" if found is not None else log.strip().partition("\n")[0]
        hint = "On the host, bodies are compiled as C++: use no intrinsics of CUDA."
        raise FeatureNotSupported(f"function {function.name} cannot run without a GPU", detail=detail, hint=hint)
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
