"""The fast path: statements whose workers answer without staged execution, one worker or all of them.

A few groups' states, or other rows, are finished in this process; any other second phase runs on one of the workers.
If one worker cannot answer, the statement falls back to staged execution: no result has only some workers' rows.
"""

from __future__ import annotations

import logging
import pickle
from collections.abc import Sequence

import pyarrow as pa

from gpudb.engine.gpu.cluster.cluster import Cluster
from gpudb.engine.gpu.coordinator.coordinator import encode_parameters
from gpudb.engine.gpu.exchange.result_codec import decode_batch
from gpudb.engine.gpu.fastpath.server import FastPathRequest, reachable_endpoint
from gpudb.engine.gpu.fastpath.two_phase import TwoPhasePlan, decode_output, finish_phases
from gpudb.engine.gpu.planning.request_planner import PhysicalPlan
from gpudb.engine.protocol import Request

_LOG = logging.getLogger(__name__)


class FastPath:
    """The fast path to a cluster's workers (see `fastpath.pool`). Thread-safe."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._pool = cluster.fast_path_pool

    def explain_eligibility(self, planned: PhysicalPlan, request: Request) -> str:
        """Returns whether the next run of a statement takes the fast path, and the reason if not."""
        if planned.chunks > 1:
            return "no: it is processed in chunks"
        if self._cluster.size > 1 and planned.two_phase is None:
            return "no: rows other than partial results are exchanged between workers"
        if self._count_bytes(planned, request, encode_parameters(request)) is not None:
            return "yes"
        return "no: it takes long, exchanges rows, or returns too many"

    def try_run(self, planned: PhysicalPlan, request: Request, parameters: bytes) -> pa.RecordBatch | None:
        """Returns a statement's rows; None falls back to staged execution.

        Raises 57014 if the statement is cancelled.
        """
        size = self._count_bytes(planned, request, parameters)
        if planned.chunks > 1 or size is None:
            return None
        phases = planned.two_phase if self._cluster.size > 1 else None
        if self._cluster.size > 1 and phases is None:
            return None
        ready = [
            (each.address, reachable_endpoint(each.heartbeat.endpoints if each.heartbeat else ()))
            for each in self._cluster.heartbeats()
        ]
        endpoints = [endpoint for _, endpoint in ready if endpoint]
        # Partitions of a missing worker belong to another one, which has not bound them.
        if len(endpoints) < self._cluster.size:
            return None
        cancel = request.cancel
        statement = self._cluster.begin()
        try:
            rows = self._request_rows(statement, endpoints, planned, phases, request, parameters)
        except Exception as error:
            _LOG.info("statement %s falls back to staged execution: %s", statement, error)
            rows = None
        finally:
            self._cluster.end(statement)
        if cancel.reason is not None:
            peers = tuple(address for address, _ in ready)
            self._cluster.loop.call_soon_threadsafe(lambda: self._cluster.spawn(self._cluster.forget(statement, peers)))
            cancel.check()
        if rows is None:
            self._pool.disable(planned.digest, parameters)
        else:
            request.settings.measures["fast_path_bytes"] = size
        return rows

    def _count_bytes(self, planned: PhysicalPlan, request: Request, parameters: bytes) -> int | None:
        """Returns the bytes that a statement reads on the fast path; None if it does not take it.

        One that may be long with other parameters waits for admission where its role or its group has a limit.
        """
        settings = request.settings
        if (settings.group is not None or settings.max_running) and not planned.cost.short:
            return self._pool.count_measured_bytes(planned.digest, parameters)
        return self._pool.count_bytes(planned.digest, parameters)

    def _request_rows(
        self,
        statement: int,
        endpoints: Sequence[str],
        planned: PhysicalPlan,
        phases: TwoPhasePlan | None,
        request: Request,
        parameters: bytes,
    ) -> pa.RecordBatch | None:
        partitions = len(endpoints)
        requests = [
            FastPathRequest(statement, planned.digest, parameters, partition, partitions)
            for partition in range(partitions)
        ]
        answers = self._pool.request(endpoints, requests, request.cancel)
        if answers is None:
            return None
        if phases is not None:
            parts = zip(*map(pickle.loads, answers), strict=True)
            received = {
                part.number: list(map(decode_output, given)) for part, given in zip(phases.first, parts, strict=True)
            }
            done = finish_phases(phases, received, request.parameters)
            if done is not None:
                return done.batch
            # Statements alternate between the workers.
            one, rest = endpoints[statement % partitions], requests[0]._replace(first_phase=tuple(answers))
            answers = self._pool.request([one], [rest], request.cancel, endpoints)
        return decode_batch(answers[0], planned.schema) if answers is not None else None
