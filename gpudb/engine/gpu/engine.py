"""The cluster as an engine: plans a bound query, cuts it into stages, runs them on the workers, streams the rows."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import defaultdict
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import pyarrow as pa

from gpudb.engine.admission import Admission
from gpudb.engine.figures import StageFigures
from gpudb.engine.gpu.backend.library_errors import translate_error
from gpudb.engine.gpu.cache.invalidation import CacheInvalidation
from gpudb.engine.gpu.cluster.cluster import Cluster
from gpudb.engine.gpu.cluster.membership import Membership
from gpudb.engine.gpu.coordinator.coordinator import Execution, StageMeasurements, encode_parameters
from gpudb.engine.gpu.coordinator.fast_path import FastPath
from gpudb.engine.gpu.exchange.result_codec import decode_batch, result_schema
from gpudb.engine.gpu.explain.plan import render_plan
from gpudb.engine.gpu.planning.request_planner import PhysicalPlan, Planner, exchange_costs
from gpudb.engine.protocol import Engine, PlanNode, Request
from gpudb.engine.sharing import SharedPart, SharePlace
from gpudb.errors import GpudbError, InternalError, OutOfMemory, QueryCanceled
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.plan.tree.nodes import Plan
from gpudb.sql import bound

BATCH_ROWS = 65536
_T = TypeVar("_T")


class ClusterEngine:
    """The workers as an engine, named `twin` (CPU workers) or `gpu`; `constants` evaluates constant expressions."""

    def __init__(self, cluster: Cluster, constants: Engine, name: str = "twin", planner: Planner | None = None) -> None:
        self.name = name
        self.scores_trees = True
        self._cluster = cluster
        workers = cluster.processes
        self._planner = planner or Planner(
            constants, exchange_costs(cluster.size, gpu=workers.gpu), fuse=workers.fuse, gpu=workers.gpu
        )
        self._fast_path = FastPath(cluster)
        self.members = Membership(cluster)
        self._invalidation = CacheInvalidation(self.members.evict)
        self.admission = Admission(cluster.processes.memory - cluster.processes.resident)

    def run(self, request: Request) -> ClusterStream | BatchStream:
        """Starts a query (see `protocol.Engine`). NotSupportedOnWorkers names what the workers do not support."""
        request.cancel.check()
        measures = request.settings.measures
        measures["engine"] = self.name
        started = time.perf_counter()
        planned = self._plan(request)
        measures["plan"] = time.perf_counter() - started
        measures["digest"] = planned.digest
        if _has_empty_limit(request.query, request.parameters):
            return BatchStream(pa.RecordBatch.from_pylist([], planned.schema))
        if request.settings.node is None:
            rows = self._fast_path.try_run(planned, request, encode_parameters(request))
            if rows is not None:
                return BatchStream(rows)
        stream = self._start(planned, request)
        stream.wait()
        measures["stages"] = stream.figures
        measures["spilled"] = sum(each.spilled for each in stream.figures)
        return stream

    def measure_exchanges(self) -> None:
        """Lets workers measure what they fetch from each other, from now on: `StageFigures.exchanges`."""
        self._cluster.measures_exchanges = True

    def _plan(self, request: Request) -> PhysicalPlan:
        """Returns a plan for all workers, or for the rows of the one worker that the request names."""
        if request.settings.node is None:
            planned = self._planner.cached_plan(request) or self._planner.plan(request, self._cluster.memory_space())
        else:
            planned = self._planner.plan_for_worker(request, request.settings.node)
        self._invalidation.record_read(planned.tables, request.snapshot)
        return planned

    def share(self, request: Request, place: SharePlace = SharePlace.HOST) -> SharedStream:
        """Runs a query and leaves its rows on the workers (see `protocol.Engine`)."""
        request.cancel.check()
        request.settings.measures["engine"] = self.name
        stream = self._start(self._plan(request), request, share=place)
        stream.wait()
        return SharedStream(stream)

    def _start(
        self, planned: PhysicalPlan, request: Request, *, measure: bool = False, share: SharePlace = SharePlace.NONE
    ) -> ClusterStream:
        finer = partial(self._planner.plan, request, self._cluster.memory_space())
        execution = Execution(self._cluster, self.admission, planned, request, finer, measure=measure, share=share)
        return ClusterStream(self._cluster, planned.plan, execution, request)

    def explain(self, request: Request, *, analyze: bool = False) -> PlanNode:
        """Returns the plan, stage by stage; with `analyze` each worker's rows, bytes and time.

        The query runs as usual, and once more operator by operator: stages' times are of the first run, operators' of
        the second.
        """
        started = time.perf_counter()
        planned, measured, spent = self._plan(request), None, None
        planning = 1000 * (time.perf_counter() - started)
        compiling = loading = 0.0
        if analyze:
            started = time.perf_counter()
            stream = self._run_to_end(planned, request)
            spent = 1000 * (time.perf_counter() - started)
            planned, measured = stream.planned, stream.measured
            compiling = _longest((each.workers, each.compiling) for each in measured.values())
            loading = _longest((each.workers, each.loading) for each in measured.values())
            # Computed alone, operators may exhaust memory: their figures are omitted then.
            with contextlib.suppress(OutOfMemory):
                for number, stage in self._run_to_end(planned, request, measure=True).measured.items():
                    measured[number].observed = stage.observed
        prefix = "Gpu" if self.name == "gpu" else ""
        hosted = self._planner.host_functions(request)
        searched = request.settings.nearest.enabled and planned.chunks == 1
        shown = render_plan(
            planned.stages, prefix, hosted, measured, request.parameters, planned.chunks, searched=searched
        )
        if analyze and self._cluster.processes.fuse:
            shown = replace(
                shown, details=(*shown.details, ("Fast Path", self._fast_path.explain_eligibility(planned, request)))
            )
        return replace(shown, execution=spent, planning=planning, compiling=compiling, loading=loading)

    def _run_to_end(self, planned: PhysicalPlan, request: Request, *, measure: bool = False) -> ClusterStream:
        """Runs a statement to its end and discards its rows."""
        stream = self._start(planned, request, measure=measure)
        stream.wait()
        stream.close()
        return stream

    def close(self) -> None:
        """Ends the workers."""
        self._cluster.close()


class BatchStream:
    """The rows of a statement that took the fast path."""

    def __init__(self, rows: pa.RecordBatch) -> None:
        self.schema = rows.schema
        self._batches = [rows]

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        yield from self._batches

    def close(self) -> None:
        """Frees the rows."""
        self._batches = []


class ClusterStream:
    """The rows of a running statement."""

    def __init__(self, cluster: Cluster, plan: Plan, execution: Execution, request: Request) -> None:
        self.schema = result_schema(tuple(column.type for column in plan.columns))
        self._cluster = cluster
        self._cancel = request.cancel
        self._execution = execution
        self._lock = threading.Lock()
        self._ended = False
        self._running: Future[Any] = cluster.run(execution.run())
        request.cancel.attach(self._interrupt)

    @property
    def planned(self) -> PhysicalPlan:
        """The plan that ran."""
        return self._execution.planned

    @property
    def failed_chunks(self) -> tuple[int, ...]:
        """The numbers of chunks for which memory was too small."""
        return tuple(self._execution.failed_chunks)

    @property
    def measured(self) -> Mapping[int, StageMeasurements]:
        """What each stage did, by its number."""
        return self._execution.measured

    @property
    def figures(self) -> Sequence[StageFigures]:
        """What each stage did on each partition."""
        return self._execution.figures

    def shared_parts(self) -> tuple[SharedPart, ...]:
        """Returns where the rows are that stay on the workers."""
        return self._execution.shared_parts()

    def _interrupt(self) -> None:
        self._running.cancel()

    def _wait_for(self, work: Future[_T]) -> _T:
        """Returns the result of work on the event loop.

        Raises the statement's error, or NotSupportedOnWorkers if only a run detects it.
        """
        self._running = work
        if self._cancel.reason is not None:
            work.cancel()
        try:
            return work.result()
        except BaseException as error:
            self.close()
            raise self._map_error(error) from error

    def wait(self) -> None:
        """Returns once every stage has run."""
        self._wait_for(self._running)

    def _map_error(self, error: BaseException) -> BaseException:
        if self._cancel.reason is not None:
            return QueryCanceled(self._cancel.reason)
        if isinstance(error, GpudbError | NotSupportedOnWorkers):
            return error
        return translate_error(error) or InternalError(f"{type(error).__name__}: {error}")

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            for chunk in self._chunks():
                batch = decode_batch(chunk, self.schema)
                for start in range(0, batch.num_rows, BATCH_ROWS):
                    self._cancel.check()
                    yield batch.slice(start, BATCH_ROWS) if batch.num_rows > BATCH_ROWS else batch
        finally:
            self.close()

    def _chunks(self) -> Iterator[bytes]:
        if not self._execution.has_remote_rows:
            yield from self._execution.inline_batches()
            return
        chunks = self._execution.results()
        try:
            while (chunk := self._wait_for(self._cluster.run(_next_chunk(chunks)))) is not None:
                yield chunk
        finally:
            self.close()
            with contextlib.suppress(RuntimeError):  # the event loop has ended
                self._cluster.run(chunks.aclose())

    def close(self) -> None:
        """Ends the statement, on the workers too."""
        self._cancel.detach(self._interrupt)
        with self._lock:
            if self._ended:
                return
            self._ended = True
        if self._running.done() and self._execution.ended:
            return
        self._running.cancel()
        with contextlib.suppress(RuntimeError):
            self._cluster.loop.call_soon_threadsafe(self._execution.close)


class SharedStream:
    """Rows that stay on the workers (see `protocol.SharedRows`)."""

    def __init__(self, stream: ClusterStream) -> None:
        self._stream = stream
        self.parts = stream.shared_parts()

    def close(self) -> None:
        """Lets the workers free the rows; idempotent."""
        self._stream.close()


async def _next_chunk(parts: AsyncGenerator[bytes]) -> bytes | None:
    return await anext(parts, None)


def _longest(stages: Iterable[tuple[Sequence[int], Sequence[float]]]) -> float:
    """Returns the most that a worker's times add up to, over stages with their workers and these workers' times."""
    sums: defaultdict[int, float] = defaultdict(float)
    for workers, times in stages:
        for worker, spent in zip(workers, times, strict=True):
            sums[worker] += spent
    return max(sums.values(), default=0.0)


def _has_empty_limit(query: bound.Query, parameters: Sequence[object]) -> bool:
    """Returns whether a query's LIMIT is a parameter of value 0, and its OFFSET valid and known.

    A plan serves all parameters, and a query without rows needs no worker.
    """

    def value(expr: bound.Expr | None) -> object:
        return parameters[expr.number - 1] if isinstance(expr, bound.Parameter) else getattr(expr, "value", None)

    if not isinstance(query.limit, bound.Parameter) or value(query.limit) != 0:
        return False
    known = query.offset is None or isinstance(query.offset, bound.Parameter | bound.Constant)
    offset = value(query.offset)
    return known and (offset is None or (isinstance(offset, int) and offset >= 0))
