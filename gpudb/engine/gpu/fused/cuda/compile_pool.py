"""Compiles kernels in background threads, so that no statement waits for one that is answered sooner without it.

A request for kernels that are not there says how long the general engine would take. If that is less than compilers
usually need it raises KernelsCompiling at once, and the general engine runs the part; else it waits for so long.

    requested ──> compiling ──> compiled    (the next run launches it)
                      └───────> failed      (the general engine runs the part from then on; the log has the reason)
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial

from gpudb.engine.gpu.fused.codegen.building_blocks import load_headers
from gpudb.engine.gpu.fused.cuda import nvrtc
from gpudb.engine.gpu.fused.cuda.nvrtc import CompiledKernel
from gpudb.engine.gpu.fused.ir.pipeline import NotFused
from gpudb.lru import LruCache

_LOG = logging.getLogger(__name__)

USUAL_S = 0.15
"""Seconds that a kernel usually takes to compile."""
_THREADS = 4
_MAX_SOURCES = 4096
"""Maximum number of cached sources."""

Jobs = tuple[Future[CompiledKernel], ...]


class KernelsCompiling(NotFused):
    """Kernels are being compiled; they can run when all `jobs` are done."""

    def __init__(self, jobs: Jobs) -> None:
        super().__init__("its kernel is being compiled")
        self.jobs = jobs


class CompilePool:
    """Kernels by source: `find` returns cached ones quickly, `make` compiles."""

    def __init__(
        self,
        find: Callable[[str], CompiledKernel | None],
        make: Callable[[str], CompiledKernel],
        usual_s: float = USUAL_S,
    ) -> None:
        self._find, self._make, self._usual_s = find, make, usual_s
        self._jobs: LruCache[str, Future[CompiledKernel]] = LruCache(_MAX_SOURCES)
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(_THREADS, "compile")

    def wait(self, sources: Sequence[str], general_s: float = 0.0) -> None:
        """Returns once all kernels can run.

        Raises KernelsCompiling if the general engine, which would take `general_s` seconds, answers sooner; NotFused
        for a kernel that does not compile.
        """
        jobs = tuple(self._job(source) for source in dict.fromkeys(sources))
        if not all(job.done() for job in jobs) and general_s >= self._usual_s:
            wait(jobs, general_s)
        if not all(job.done() for job in jobs):
            raise KernelsCompiling(jobs)
        for job in jobs:
            if job.exception() is not None:
                raise NotFused("a kernel that failed to compile")

    def get(self, source: str) -> CompiledKernel:
        """Waits for a kernel without a limit; raises the compiler's exception."""
        return self._job(source).result()

    def _job(self, source: str) -> Future[CompiledKernel]:
        """Returns the job of a source, which starts now unless it has been requested before."""
        with self._lock:
            job = self._jobs.get(source)
            if job is not None:
                return job
            job = Future()
            self._jobs.put(source, job)
        try:
            before = self._find(source)
        except Exception as error:
            job.set_exception(error)
            return job
        if before is not None:
            job.set_result(before)
        else:
            self._pool.submit(self._compile, source, job)
        return job

    def _compile(self, source: str, job: Future[CompiledKernel]) -> None:
        started = time.perf_counter()
        try:
            made = self._make(source)
        except Exception as error:
            _LOG.exception("compiling a kernel failed")
            job.set_exception(error)
            return
        _LOG.info("a kernel was compiled in %.0f ms", 1000 * (time.perf_counter() - started))
        job.set_result(made)


def nvrtc_pool(architecture: str) -> CompilePool:
    """Returns a pool that compiles for an architecture (`sm_90`)."""
    target = {"headers": load_headers(), "architecture": architecture}
    return CompilePool(partial(nvrtc.find_compiled, **target), partial(nvrtc.compile_source, **target))  # type: ignore[arg-type]
