"""Compiles the bodies of PL/CUDA functions with NVRTC to check them: a process of the session serves this module."""

from __future__ import annotations

import re

from gpudb.engine.gpu.fused.cuda import nvrtc
from gpudb.errors import GpudbError, SqlError
from gpudb.plcuda.host_compiler import check_on_host, find_position, make_syntax_error
from gpudb.plcuda.source import BODY, CudaFunction, write_device_source
from gpudb.plcuda.tables import CudaTable, write_device_table

_ARCHITECTURE = "sm_90"
_ERROR = re.compile(rf"^{BODY}\((\d+)\): (?:catastrophic )?error(?: #\S+)?: (.*)\n(.*)\n( *\^)?", re.MULTILINE)
_HINT_ERROR = re.compile(r"^hints\(\d+\): (?:catastrophic )?error(?: #\S+)?: (.*)$", re.MULTILINE)
_MISSING = "NVRTC is not there"


def check(function: CudaFunction | CudaTable) -> None:
    """Compiles a body for GPUs, or for the host where NVRTC is not installed; 42601 with the place in the body."""
    try:
        nvrtc.compile_source(_write_source(function), {}, _ARCHITECTURE)
    except GpudbError as error:
        if error.message.startswith(_MISSING):
            check_on_host(function)
            return
        raise _read_error(function, error.message) from None


def _write_source(function: CudaFunction | CudaTable) -> str:
    return write_device_table(function) if isinstance(function, CudaTable) else write_device_source(function)


def _read_error(function: CudaFunction | CudaTable, log: str) -> SqlError:
    log = log.partition("failed: ")[2] or log
    found = _ERROR.search(log)
    if found is None:
        hint = _HINT_ERROR.search(log)
        message = log.partition("\n")[0] if hint is None else f"in the hints: {hint[1]}"
        return make_syntax_error(message, None)
    line, shown, caret = int(found[1]), found[3], found[4]
    text = (function.body.split("\n") + [""])[line - 1] if line <= function.body.count("\n") + 1 else ""
    column = 1
    if caret and text.strip() and text.strip() in shown:
        column = len(caret) - shown.index(text.strip()) + len(text) - len(text.lstrip())
    return make_syntax_error(found[2], find_position(function, line, column))
