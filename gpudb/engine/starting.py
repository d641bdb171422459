"""A cluster while it starts: statements over tables wait for its workers, all others run meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING

from gpudb.engine.protocol import Cancel, Engine, PlanNode, Request, SharedRows, Stream
from gpudb.engine.routing import RoutedEngine, needs_cluster
from gpudb.engine.sharing import SharePlace

if TYPE_CHECKING:
    from gpudb.engine.gpu.engine import ClusterEngine

WAIT_EVENT = "ClusterStart"
"""The wait event in pg_stat_activity meanwhile."""


class ClusterStart:
    """The start of a cluster, on a thread of its own since it takes seconds: libraries, processes, GPU contexts."""

    def __init__(self, start: Callable[[], ClusterEngine]) -> None:
        self._start = start
        self._result: Future[ClusterEngine] = Future()

    def begin(self) -> None:
        """Begins to start; called once."""
        threading.Thread(target=self._run, name="cluster start", daemon=True).start()

    def _run(self) -> None:
        try:
            engine = self._start()
        except BaseException as error:
            self._result.set_exception(error)
        else:
            self._result.set_result(engine)

    @property
    def cluster(self) -> ClusterEngine | None:
        """The cluster, once it runs."""
        return self._result.result() if self._result.done() and self.error is None else None

    @property
    def error(self) -> BaseException | None:
        """Why the cluster could not start; None if it starts or runs."""
        return self._result.exception() if self._result.done() else None

    def on_end(self, call: Callable[[], object]) -> None:
        """Calls once the cluster runs or has failed, on the thread that starts it; at once if it has ended."""
        self._result.add_done_callback(lambda _: call())

    def wait(self, cancel: Cancel | None = None) -> ClusterEngine:
        """Returns the cluster once it runs. Raises why it could not start, or 57014 by `cancel`."""
        if cancel is not None and not self._result.done():
            awake = threading.Event()
            wake = awake.set
            cancel.attach(wake)
            self.on_end(wake)
            cancel.waits_for = WAIT_EVENT
            try:
                awake.wait()
            finally:
                cancel.waits_for = None
                cancel.detach(wake)
            cancel.check()
        return self._result.result()


class StartingEngine:
    """The engine until the cluster runs, named as that one will be."""

    def __init__(self, start: ClusterStart, embedded: Engine, name: str) -> None:
        self.name = name
        self.scores_trees = True
        self._start = start
        self._embedded = embedded

    def run(self, request: Request) -> Stream:
        """Starts a query, over tables once the cluster runs (see `protocol.Engine`)."""
        return self._select(request).run(request)

    def share(self, request: Request, place: SharePlace = SharePlace.HOST) -> SharedRows:
        """Runs a query on the cluster once it runs (see `protocol.Engine`)."""
        return self._route(request).share(request, place)

    def explain(self, request: Request, *, analyze: bool = False) -> PlanNode:
        """Returns the plan of the engine that runs the query (see `protocol.Engine`)."""
        return self._select(request).explain(request, analyze=analyze)

    def _select(self, request: Request) -> Engine:
        waits = request.settings.node is not None or needs_cluster(request.query)
        return self._route(request) if waits else self._embedded

    def _route(self, request: Request) -> RoutedEngine:
        return RoutedEngine(self._start.wait(request.cancel), self._embedded)

    def close(self) -> None:
        """Closes the engines, once the start has ended."""
        try:
            cluster = self._start.wait()
        except BaseException:  # who waits for the start has been told
            self._embedded.close()
        else:
            RoutedEngine(cluster, self._embedded).close()
