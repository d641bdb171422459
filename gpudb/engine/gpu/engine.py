"""The cluster as an engine: a bound query planned, cut into stages, run on the workers, its rows streamed."""

from __future__ import annotations

import io
import threading
from collections.abc import AsyncIterator, Iterator, Mapping

import polars as pl
import pyarrow as pa

from gpudb.engine.gpu.cluster import Cluster
from gpudb.engine.gpu.coordinator import Execution, Measured
from gpudb.engine.gpu.display import displayed
from gpudb.engine.gpu.outcome import to_batch
from gpudb.engine.gpu.planning import Planner
from gpudb.engine.protocol import Engine, PlanNode, Request
from gpudb.errors import GpudbError, InternalError, QueryCanceled
from gpudb.plan.errors import NotCarried
from gpudb.plan.nodes import Plan
from gpudb.plan.placing import Costs
from gpudb.plan.stages import Stage

BATCH_ROWS = 65536


class ClusterEngine:
    """Workers as an engine, under the name `twin` (CPU workers) or `gpu`; `constants` computes constant expressions."""

    def __init__(self, cluster: Cluster, constants: Engine, name: str = "twin") -> None:
        self.name = name
        self._cluster = cluster
        self._planner = Planner(constants, Costs(workers=cluster.size))

    def run(self, request: Request) -> ClusterStream:
        """Starts a query (see `protocol.Engine`); NotCarried names what the workers lack."""
        request.cancel.check()
        plan, stages = self._planner.planned(request)
        stream = ClusterStream(self._cluster, plan, stages, request)
        stream.wait()
        return stream

    def explain(self, request: Request, *, analyze: bool = False) -> PlanNode:
        """The plan, stage by stage; with `analyze` each worker's rows, bytes and time."""
        plan, stages = self._planner.planned(request)
        prefix = "Gpu" if self.name == "gpu" else ""
        if not analyze:
            return displayed(stages, prefix)
        stream = ClusterStream(self._cluster, plan, stages, request)
        stream.wait()
        stream.close()
        return displayed(stages, prefix, stream.measured)

    def close(self) -> None:
        """Ends the workers."""
        self._cluster.close()


class ClusterStream:
    """The rows of a running statement."""

    def __init__(self, cluster: Cluster, plan: Plan, stages: list[Stage], request: Request) -> None:
        self._types = tuple(column.type for column in plan.columns)
        names = [f"c{number}" for number in range(1, len(self._types) + 1)]
        fields = [pa.field(name, kind.arrow) for name, kind in zip(names, self._types, strict=True)]
        self.schema = pa.schema(fields)
        self._cluster = cluster
        self._cancel = request.cancel
        self._execution = Execution(cluster, stages, request.parameters)
        self._lock = threading.Lock()
        self._dropped = False
        self._running = cluster.run(self._execution.run())
        request.cancel.attach(self._interrupt)

    @property
    def measured(self) -> Mapping[int, Measured]:
        """What each stage that has ended did, by its number."""
        return self._execution.measured

    def _interrupt(self) -> None:
        self._running.cancel()

    def wait(self) -> None:
        """Returns once every stage has run; raises the statement's error, or NotCarried for what only a run tells."""
        try:
            self._running.result()
        except BaseException as error:
            self.close()
            raise self._told(error) from error

    def _told(self, error: BaseException) -> BaseException:
        if isinstance(error, BaseExceptionGroup):
            return self._told(error.exceptions[0])
        if self._cancel.reason is not None:
            return QueryCanceled(self._cancel.reason)
        if isinstance(error, GpudbError | NotCarried):
            return error
        return InternalError(f"{type(error).__name__}: {error}")

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        parts = self._execution.results()
        try:
            while True:
                self._cancel.check()
                part = self._cluster.run(_next(parts)).result()
                if part is None:
                    return
                frame = pl.read_ipc_stream(io.BytesIO(part))
                for start in range(0, frame.height, BATCH_ROWS):
                    yield to_batch(frame.slice(start, BATCH_ROWS), self._types)
        except GeneratorExit:
            raise
        except BaseException as error:
            raise self._told(error) from error
        finally:
            self.close()

    def close(self) -> None:
        """Ends the statement and has the workers forget it."""
        self._cancel.detach(self._interrupt)
        with self._lock:
            if self._dropped:
                return
            self._dropped = True
        over = self._running.done() and not self._running.cancelled()
        self._running.cancel()
        self._cluster.run(self._execution.drop() if over else self._execution.stop())


async def _next(parts: AsyncIterator[bytes]) -> bytes | None:
    return await anext(parts, None)
