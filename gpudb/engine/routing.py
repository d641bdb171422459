"""Routing between engines: the cluster runs what its workers support, else the embedded engine the whole query."""

from __future__ import annotations

from dataclasses import replace

from gpudb.engine.protocol import Engine, PlanNode, Request, SharedRows, Stream
from gpudb.errors import FeatureNotSupported
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.sql import bound
from gpudb.sql.prepared import Artifact
from gpudb.sql.traverse import walk

_READS_TABLES = Artifact[bool]()


class RoutedEngine:
    """Routes queries to `cluster`, else to `embedded` unless the setting gpudb.fallback is off."""

    def __init__(self, cluster: Engine, embedded: Engine) -> None:
        self.name = cluster.name
        self._cluster = cluster
        self._embedded = embedded

    def run(self, request: Request) -> Stream:
        """Starts a query. A fallback sends a NOTICE; 0A000 if fallback is off."""
        if not reads_tables(request.query):
            self._check_node(request)
            return self._embedded.run(request)
        try:
            return self._cluster.run(request)
        except NotSupportedOnWorkers as error:
            self._refuse(request, error)
            request.settings.measures["fallback"] = error.construct
            request.settings.notice(f"runs on the embedded engine: {error.construct} is not supported by {self.name}")
            return self._embedded.run(request)

    def share(self, request: Request) -> SharedRows:
        """Runs a query on the cluster alone (see `protocol.Engine`)."""
        if not reads_tables(request.query):
            raise FeatureNotSupported("rows are shared from the memory of workers, and the query reads none of theirs")
        try:
            return self._cluster.share(request)
        except NotSupportedOnWorkers as error:
            raise FeatureNotSupported(f"{error.construct} is not supported by the {self.name} engine") from None

    def explain(self, request: Request, *, analyze: bool = False) -> PlanNode:
        """Returns the plan of the engine that runs the query; after a fallback it contains the reason."""
        if not reads_tables(request.query):
            self._check_node(request)
            return self._embedded.explain(request, analyze=analyze)
        try:
            return self._cluster.explain(request, analyze=analyze)
        except NotSupportedOnWorkers as error:
            self._refuse(request, error)
            plan = self._embedded.explain(request, analyze=analyze)
            return replace(plan, details=(*plan.details, ("Fallback", f"{error.construct} is not supported")))

    def _refuse(self, request: Request, error: NotSupportedOnWorkers) -> None:
        if request.settings.node is not None:
            raise FeatureNotSupported(f"{error.construct} is not supported on one node alone")
        if not request.settings.fallback:
            message = f"{error.construct} is not supported by the {self.name} engine"
            raise FeatureNotSupported(message, hint="SET gpudb.fallback = on lets the embedded engine run it.")

    @staticmethod
    def _check_node(request: Request) -> None:
        """Raises 0A000 for a query over one node that also reads tables of this process."""
        if request.settings.node is not None and any(isinstance(node, bound.Scan) for node in walk(request.query)):
            raise FeatureNotSupported("tables beside system catalogs are not supported on one node alone")

    def close(self) -> None:
        """Closes both engines."""
        self._cluster.close()
        self._embedded.close()


def reads_tables(query: bound.Query) -> bool:
    """Whether a query reads tables or files alone: system relations and registered frames are in this process."""
    known = query.prepared.get(_READS_TABLES)
    return query.prepared.put(_READS_TABLES, _finds_tables(query)) if known is None else known


def _finds_tables(query: bound.Query) -> bool:
    found = False
    for node in walk(query):
        if isinstance(node, bound.SystemScan | bound.FrameScan) or (isinstance(node, bound.Scan) and node.row_ids):
            return False
        found = found or isinstance(node, bound.Scan | bound.FileScan)
    return found
