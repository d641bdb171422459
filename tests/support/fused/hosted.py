"""Generated kernels on the host: g++ compiles their CUDA C++, and each CUDA thread is a host thread.

This is slow and does not cover warp-level behaviour, but it runs the kernel's own source.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from gpudb.engine.gpu.fused.codegen.building_blocks import load_headers
from gpudb.engine.gpu.fused.codegen.kernel import Kernel, Options, choose_options, generate_kernel
from gpudb.engine.gpu.fused.cuda.launch import grid_size, kernel_arguments
from gpudb.engine.gpu.fused.cuda.result_buffers import ResultBuffers
from gpudb.engine.gpu.fused.ir.pipeline import Pipeline
from gpudb.engine.gpu.fused.numpy_backend.executor import Outcome, Segment, specialize

HERE = Path(__file__).parent
COMPILER = shutil.which("g++")
_FLAGS = ("-std=c++20", "-O0", "-fPIC", "-shared", "-w", "-fwrapv", "-fno-strict-aliasing", "-ffp-contract=off")
_SHARED = "extern __shared__ uint4 shared[];"
_WARPS = "__shared__ u64 warps[32];"
_CAPACITY = 1 << 14


class _Array(np.ndarray):  # type: ignore[type-arg]
    def get(self) -> Any:
        """Returns itself, like a CuPy array's copy to the host."""
        return np.asarray(self)


def _of(function: Any) -> Any:
    return lambda *given, **more: function(*given, **more).view(_Array)


XP = SimpleNamespace(
    **{name: _of(getattr(np, name)) for name in ("empty", "zeros", "asarray", "flatnonzero", "argsort", "lexsort")},
    ascontiguousarray=np.ascontiguousarray,
)


class Hosted:
    """Kernels of some pipelines, compiled together in a folder."""

    def __init__(self, pipelines: Sequence[Pipeline], folder: Path, options: Options | None = None) -> None:
        self._options = options
        made = {kernel.source: kernel for kernel in (generate_kernel(each, options) for each in pipelines)}
        self._names = {source: f"kernel{number}" for number, source in enumerate(made)}
        for name, text in load_headers().items():
            (folder / name).write_text(text)
        text = '#include "hosted.h"\n' + "".join(f'#include "{name}"\n' for name in load_headers())
        text += "".join(_callable(self._names[source], kernel) for source, kernel in made.items())
        (folder / "kernels.cc").write_text(text)
        self._library = ctypes.CDLL(str(_compiled(folder)))

    def run(
        self,
        pipeline: Pipeline,
        segments: Sequence[Segment],
        lookups: Sequence[Sequence[Any]],
        tables: Sequence[tuple[Any, Any]],
        resident: int = 2,
    ) -> Outcome:
        """Runs a pipeline's kernel over segments, on a device that holds `resident` blocks at once."""
        target = ResultBuffers(XP, pipeline.sink, _CAPACITY)
        for segment in segments:
            made = specialize(pipeline, segment)
            kernel = generate_kernel(made, self._options)
            if segment.rows:
                given = kernel_arguments(kernel, segment, lookups, tables, target)
                together = (self._options or choose_options(made)).rows
                self._launch(kernel, given, grid_size(kernel, together, segment.rows, resident))
        outcome = target.fetch()
        assert outcome is not None
        return outcome

    def _launch(self, kernel: Kernel, given: Sequence[Any], grid: int) -> None:
        entry = getattr(self._library, self._names[kernel.source])
        self._library.run_blocks(entry, _pointers(given), grid, kernel.block_threads, kernel.shared_bytes)


class HostedFile:
    """The kernels of a file of kernels/, compiled in a folder; threads of those in `alone` run one after the other."""

    def __init__(self, text: str, alone: Sequence[str], folder: Path) -> None:
        self._alone = alone
        for name, header in load_headers().items():
            (folder / name).write_text(header)
        names = re.findall(r"__launch_bounds__\(\d+\) (\w+)\(", text)
        if "##T" in text:
            kinds = re.findall(r"\bOF\((\w+)\)", text.replace("define OF(T)", ""))
            names = [name for name in names if not name.endswith("_")]
            names += [f"{stem}_{kind}" for stem in re.findall(r"(\w+)_##T", text) for kind in kinds]
        made = "".join(f'extern "C" void of_{name}(void** given) {{ call({name}, given); }}\n' for name in names)
        (folder / "kernels.cc").write_text(f'#include "hosted.h"\n{text}\n{_CALL}{made}')
        self._library = ctypes.CDLL(str(_compiled(folder)))

    def __call__(self, name: str, blocks: int, given: Sequence[Any], block: int = 256) -> None:
        """Runs one of them."""
        entry, pointers = getattr(self._library, f"of_{name}"), _pointers(given)
        if name in self._alone or name.partition("_")[0] in self._alone:
            self._library.run_alone(entry, pointers, blocks, block)
        else:
            self._library.run_blocks(entry, pointers, blocks, block, 0)


_CALL = """
#include <utility>
template <class... A, std::size_t... I>
void call_with(void (*kernel)(A...), void** given, std::index_sequence<I...>) { kernel(*(A*)given[I]...); }
template <class... A>
void call(void (*kernel)(A...), void** given) { call_with(kernel, given, std::index_sequence_for<A...>{}); }
"""


def _pointers(given: Sequence[Any]) -> Any:
    """Pointers to the arguments of a kernel: arrays are passed by address."""
    held: list[Any] = []
    for each in given:
        if each is None:
            held.append(ctypes.c_void_p(0))
        elif isinstance(each, np.ndarray) and each.ndim:
            assert each.flags.c_contiguous
            held.append(ctypes.c_void_p(each.ctypes.data))
        else:
            held.append(np.ascontiguousarray(each).ctypes)
    places = [ctypes.addressof(each) if isinstance(each, ctypes.c_void_p) else each.data for each in held]
    pointers = (ctypes.c_void_p * len(places))(*places)
    pointers.held = held  # type: ignore[attr-defined]
    return pointers


def _callable(name: str, kernel: Kernel) -> str:
    """Source of a kernel as a function of the addresses of its arguments."""
    body = re.sub(r"^#include .*$", "", kernel.source, flags=re.MULTILINE)
    body = body.replace(_SHARED, "uint4* const shared = shared_memory;").replace(
        _WARPS, "u64* const warps = warps_memory;"
    )
    found = re.search(r"fused\(\n(.*?)\) \{\n", body, re.DOTALL)
    assert found is not None
    kinds = [each.strip().rpartition(" ")[0] for each in found[1].split(",\n")]
    given = ", ".join(f"*({kind.replace('__restrict__', '')}*)given[{place}]" for place, kind in enumerate(kinds))
    body = body.replace('extern "C" __global__', "static").replace(" fused(", f" of_{name}(")
    # Kernels that call the same PL/CUDA function each have it.
    entry = f'extern "C" void {name}(void** given) {{ of_{name}({given}); }}'
    guards = "".join(f"#undef {each}\n" for each in re.findall(r"^#define (PLCUDA_STRUCT_\w+)", body, re.MULTILINE))
    return f"\nnamespace in_{name} {{\n{body}\n{entry}\n}}\n{guards}"


def _compiled(folder: Path) -> Path:
    assert COMPILER is not None
    library = folder / "kernels.so"
    sources = [folder / "kernels.cc", HERE / "hosted.cc"]
    command = [COMPILER, *_FLAGS, f"-I{HERE}", f"-I{folder}", *map(str, sources), "-o", str(library)]
    made = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert made.returncode == 0, made.stderr[:4000]
    return library
