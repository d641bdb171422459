"""The cluster as an engine: a bound query planned, cut into stages, run on the workers, its rows streamed."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator

import polars as pl
import pyarrow as pa

from gpudb.engine.gpu.cluster import Cluster
from gpudb.engine.gpu.coordinator import Execution
from gpudb.engine.gpu.outcome import to_batch
from gpudb.engine.gpu.planning import planned
from gpudb.engine.protocol import Engine, PlanNode, Request
from gpudb.errors import GpudbError, InternalError, QueryCanceled
from gpudb.plan.nodes import Plan
from gpudb.plan.stages import Stage

BATCH_ROWS = 65536
STOP_SECONDS = 0.5
"""How long a worker may go on after a cancel before its process is ended."""


class ClusterEngine:
    """Workers as an engine, under the name `twin` (CPU workers) or `gpu`; `constants` computes constant expressions."""

    def __init__(self, cluster: Cluster, constants: Engine, name: str = "twin") -> None:
        self.name = name
        self._cluster = cluster
        self._constants = constants

    def plan(self, request: Request) -> tuple[Plan, list[Stage]]:
        """The plan and its stages; NotCarried names what the workers lack."""
        return planned(request, self._constants)

    def run(self, request: Request) -> ClusterStream:
        """Starts a query (see `protocol.Engine`)."""
        request.cancel.check()
        plan, stages = self.plan(request)
        return ClusterStream(self._cluster, plan, stages, request)

    def explain(self, request: Request, *, analyze: bool = False) -> PlanNode:
        """The plan, stage by stage."""
        raise NotImplementedError

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

    def _interrupt(self) -> None:
        self._running.cancel()

    def _finished(self) -> None:
        try:
            self._running.result()
        except BaseExceptionGroup as group:
            raise _first(group) from group

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            self._finished()
            parts = self._execution.results()
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
            if self._cancel.reason is not None:
                raise QueryCanceled(self._cancel.reason) from error
            if isinstance(error, GpudbError):
                raise
            raise InternalError(f"{type(error).__name__}: {error}") from error
        finally:
            self.close()

    def close(self) -> None:
        """Ends the statement and has the workers forget it."""
        self._cancel.detach(self._interrupt)
        with self._lock:
            if self._dropped:
                return
            self._dropped = True
        self._running.cancel()
        self._cluster.run(self._execution.drop())


async def _next(parts: object) -> bytes | None:
    return await anext(parts, None)  # type: ignore[call-overload, no-any-return]


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    first = group.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
