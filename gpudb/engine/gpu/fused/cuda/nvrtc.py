"""Compiles CUDA C++ to cubins with NVRTC, NVIDIA's run-time compiler, through its C interface.

NVRTC needs no GPU and no CUDA toolkit. The library is that of the package nvidia-cuda-nvrtc, else the one that the
loader finds. Cubins are cached in memory and, by a digest of the compiled text, on disk.
"""

from __future__ import annotations

import ctypes
import hashlib
import re
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from gpudb.cache_folder import cache_folder as cache_folder
from gpudb.errors import InternalError

OPTIONS = ("--std=c++17", "--device-int128", "--fmad=false", "--extra-device-vectorization")
"""Products and sums are not contracted: floats round twice, as PostgreSQL's do."""


@dataclass(frozen=True, slots=True)
class CompiledKernel:
    """A cubin. `milliseconds` is 0 for a cached one; `registers` per thread; `spilled` bytes per thread."""

    cubin: bytes
    registers: int
    spilled: int
    milliseconds: float


@cache
def _library() -> ctypes.CDLL:
    names: list[str] = []
    spec = find_spec("nvidia")
    for directory in (spec.submodule_search_locations or ()) if spec is not None else ():
        names += map(str, sorted(Path(directory).glob("*/lib/libnvrtc.so.*"), reverse=True))
    for name in (*names, "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise InternalError("NVRTC is not there: install nvidia-cuda-nvrtc, or the CUDA toolkit")


_LOCK = threading.Lock()
_CACHE: dict[str, CompiledKernel] = {}


def compile_source(
    source: str, headers: Mapping[str, str], architecture: str, *, folder: Path | None = None
) -> CompiledKernel:
    """Compiles for an architecture (`sm_90`); raises XX000 with the compiler's log for a faulty source.

    `folder` caches cubins between processes; by default it is in the user's cache directory. Thread-safe.
    """
    made = find_compiled(source, headers, architecture, folder=folder)
    if made is None:
        made = _compile(source, headers, architecture)
        digest = _digest(source, headers, architecture)
        _write(_cubin_path(digest, folder), made)
        _cache(digest, made)
    return made


def find_compiled(
    source: str, headers: Mapping[str, str], architecture: str, *, folder: Path | None = None
) -> CompiledKernel | None:
    """Returns the cubin that this process or another compiled before; None if there is none."""
    digest = _digest(source, headers, architecture)
    with _LOCK:
        if digest in _CACHE:
            return _CACHE[digest]
    made = _read(_cubin_path(digest, folder))
    if made is not None:
        _cache(digest, made)
    return made


def _digest(source: str, headers: Mapping[str, str], architecture: str) -> str:
    text = "\0".join((source, architecture, *OPTIONS, *(f"{name}\0{headers[name]}" for name in sorted(headers))))
    return hashlib.sha256(text.encode()).hexdigest()[:40]


def _cubin_path(digest: str, folder: Path | None) -> Path:
    return (folder or cache_folder() / "kernels") / f"{digest}.cubin"


def _cache(digest: str, made: CompiledKernel) -> None:
    with _LOCK:
        _CACHE[digest] = CompiledKernel(made.cubin, made.registers, made.spilled, 0.0)


def _read(path: Path) -> CompiledKernel | None:
    try:
        data = path.read_bytes()
    except OSError:
        return None
    head, _, cubin = data.partition(b"\n")
    numbers = head.split()
    if len(numbers) != 3 or numbers[2].decode() != hashlib.sha256(cubin).hexdigest():
        return None
    return CompiledKernel(cubin, int(numbers[0]), int(numbers[1]), 0.0)


def _write(path: Path, made: CompiledKernel) -> None:
    """Writes a temporary file and renames it, so that no process reads a partial one; ignores a read-only cache."""
    head = f"{made.registers} {made.spilled} {hashlib.sha256(made.cubin).hexdigest()}\n".encode()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(head + made.cubin)
        Path(file.name).replace(path)
    except OSError:
        return


def _compile(source: str, headers: Mapping[str, str], architecture: str) -> CompiledKernel:
    library = _library()
    started = time.perf_counter()
    program = ctypes.c_void_p()
    names = (ctypes.c_char_p * len(headers))(*(name.encode() for name in headers))
    texts = (ctypes.c_char_p * len(headers))(*(text.encode() for text in headers.values()))
    _check(
        library.nvrtcCreateProgram(
            ctypes.byref(program), source.encode(), b"fused.cu", ctypes.c_int(len(headers)), texts, names
        )
    )
    try:
        options = [*OPTIONS, f"--gpu-architecture={architecture}", "--ptxas-options=-v"]
        arguments = (ctypes.c_char_p * len(options))(*(each.encode() for each in options))
        status = library.nvrtcCompileProgram(program, ctypes.c_int(len(options)), arguments)
        log = _text(program, "ProgramLog")
        if status:
            raise InternalError(f"compiling a kernel failed: {log[:2000]}")
        size = ctypes.c_size_t()
        _check(library.nvrtcGetCUBINSize(program, ctypes.byref(size)))
        cubin = ctypes.create_string_buffer(size.value)
        _check(library.nvrtcGetCUBIN(program, cubin))
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))
    registers = re.search(r"Used (\d+) registers", log)
    spilled = re.search(r"(\d+) bytes spill stores", log)
    return CompiledKernel(
        cubin.raw,
        int(registers[1]) if registers else 0,
        int(spilled[1]) if spilled else 0,
        1000 * (time.perf_counter() - started),
    )


def _text(program: ctypes.c_void_p, what: str) -> str:
    library = _library()
    size = ctypes.c_size_t()
    _check(getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
    made = ctypes.create_string_buffer(size.value)
    _check(getattr(library, f"nvrtcGet{what}")(program, made))
    return made.value.decode(errors="replace")


def _check(status: int) -> None:
    if status:
        raise InternalError(f"NVRTC answers with error {status}")
