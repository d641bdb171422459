"""Compiles kernels in background threads, so that no statement waits long for one.

The first request for a kernel waits for it up to `patience` seconds; others, and later runs, do not: they raise
Compiling, and the general engine runs the part meanwhile. Over so many rows that the general engine would take longer,
all requests wait.

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

PATIENCE = 0.3
"""Seconds that a first run waits for its kernels."""
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
        patience: float = PATIENCE,
    ) -> None:
        self._find, self._make, self._patience = find, make, patience
        self._jobs: LruCache[str, Future[CompiledKernel]] = LruCache(_MAX_SOURCES)
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(_THREADS, "compile")

    def wait(self, sources: Sequence[str], least: float = 0.0) -> None:
        """Returns once all kernels can run.

        Raises Compiling if that takes longer than the patience of a first request, and than `least` seconds, which the
        general engine would take; NotFused for a kernel that does not compile.
        """
        requests = [self._job(source) for source in dict.fromkeys(sources)]
        jobs = tuple(job for job, _ in requests)
        if not all(job.done() for job in jobs):
            wait(jobs, max(self._patience if any(new for _, new in requests) else 0.0, least))
        if not all(job.done() for job in jobs):
            raise KernelsCompiling(jobs)
        for job in jobs:
            if job.exception() is not None:
                raise NotFused("a kernel that failed to compile")

    def get(self, source: str) -> CompiledKernel:
        """Waits for a kernel without a limit; raises the compiler's exception."""
        return self._job(source)[0].result()

    def _job(self, source: str) -> tuple[Future[CompiledKernel], bool]:
        """Returns the job of a source, and whether it starts only now."""
        with self._lock:
            job = self._jobs.get(source)
            if job is not None:
                return job, False
            job = Future()
            self._jobs.put(source, job)
        try:
            before = self._find(source)
        except Exception as error:
            job.set_exception(error)
            return job, False
        if before is not None:
            job.set_result(before)
            return job, False
        self._pool.submit(self._compile, source, job)
        return job, True

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
