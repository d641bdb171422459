"""Routing between engines: the cluster runs what its workers support, else the embedded engine the whole query."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpudb.engine.protocol import Engine, PlanNode, Request, SharedRows, Stream
from gpudb.engine.sharing import SharePlace
from gpudb.errors import FeatureNotSupported
from gpudb.functions.input_checks import ERROR_OF
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.sql import bound
from gpudb.sql.prepared import Artifact
from gpudb.sql.traverse import walk
from gpudb.types import SqlType


@dataclass(frozen=True, slots=True)
class _Facts:
    """What routing depends on.

    `reads_tables` is whether a query reads tables or files alone: system relations and registered frames are in this
    process. `has_scores` is whether it scores rows by trees, which the embedded engine does not.
    """

    reads_tables: bool
    has_scores: bool


_TEXTS = frozenset({"text", "varchar", "bpchar", "json", "jsonb", "name"})
_STYLED = frozenset({"date", "timestamp", "timestamptz", "timetz", "time", "interval", "record"})
_FACTS: Artifact[_Facts] = Artifact()


class RoutedEngine:
    """Routes queries to `cluster`, else to `embedded` unless the setting gpudb.fallback is off."""

    def __init__(self, cluster: Engine, embedded: Engine) -> None:
        self.name = cluster.name
        self.scores_trees = cluster.scores_trees
        self._cluster = cluster
        self._embedded = embedded

    def run(self, request: Request) -> Stream:
        """Starts a query. A fallback sends a NOTICE; 0A000 if fallback is off."""
        if not _find_facts(request.query).reads_tables:
            self._check_embedded(request)
            return self._embedded.run(request)
        try:
            _check_style(request)
            return self._cluster.run(request)
        except NotSupportedOnWorkers as error:
            self._refuse(request, error)
            request.settings.measures["fallback"] = error.construct
            request.settings.notice(f"runs on the embedded engine: {error.construct} is not supported by {self.name}")
            return self._embedded.run(request)

    def share(self, request: Request, place: SharePlace = SharePlace.HOST) -> SharedRows:
        """Runs a query on the cluster alone (see `protocol.Engine`)."""
        if not _find_facts(request.query).reads_tables:
            raise FeatureNotSupported("rows are shared from the memory of workers, and the query reads none of theirs")
        try:
            return self._cluster.share(request, place)
        except NotSupportedOnWorkers as error:
            raise FeatureNotSupported(f"{error.construct} is not supported by the {self.name} engine") from None

    def explain(self, request: Request, *, analyze: bool = False) -> PlanNode:
        """Returns the plan of the engine that runs the query; after a fallback it contains the reason."""
        if not _find_facts(request.query).reads_tables:
            self._check_embedded(request)
            return self._embedded.explain(request, analyze=analyze)
        try:
            return self._cluster.explain(request, analyze=analyze)
        except NotSupportedOnWorkers as error:
            self._refuse(request, error)
            plan = self._embedded.explain(request, analyze=analyze)
            return replace(plan, details=(*plan.details, ("Fallback", f"{error.construct} is not supported")))

    def _refuse(self, request: Request, error: NotSupportedOnWorkers) -> None:
        """Raises 0A000 where the embedded engine may not run a query, or the error itself where it cannot."""
        if _find_facts(request.query).has_scores:
            raise error
        if request.settings.node is not None:
            raise FeatureNotSupported(f"{error.construct} is not supported on one node alone")
        if not request.settings.fallback:
            message = f"{error.construct} is not supported by the {self.name} engine"
            raise FeatureNotSupported(message, hint="SET gpudb.fallback = on lets the embedded engine run it.")

    @staticmethod
    def _check_embedded(request: Request) -> None:
        """Raises NotSupportedOnWorkers for scores of rows of this process, 0A000 for a query over one node that also
        reads tables of this process.
        """
        if _find_facts(request.query).has_scores:
            raise NotSupportedOnWorkers("a score by trees of rows that are in no table")
        if request.settings.node is not None and any(isinstance(node, bound.Scan) for node in walk(request.query)):
            raise FeatureNotSupported("tables beside system catalogs are not supported on one node alone")

    def close(self) -> None:
        """Closes both engines."""
        self._cluster.close()
        self._embedded.close()


def _check_style(request: Request) -> None:
    """Raises NotSupportedOnWorkers if moments or intervals may become texts, or be read from them, in another style
    than that of workers.
    """
    if request.settings.style.is_default:
        return
    for node in walk(request.query):
        if isinstance(node, bound.Call | bound.Cast | bound.Aggregate):
            args = (node.arg,) if isinstance(node, bound.Cast) else node.args
            ends = [node.type, *(arg.type for arg in args)]
            reads = isinstance(node, bound.Call) and node.function == ERROR_OF
            if reads or (any(_is_text(each) for each in ends) and any(_has_style(each) for each in ends)):
                raise NotSupportedOnWorkers("a text of a date, timestamp or interval in another style")


def _is_text(type_: SqlType) -> bool:
    return (type_.element or type_).name in _TEXTS


def _has_style(type_: SqlType) -> bool:
    """Whether texts of a type's values may differ by style."""
    plain = type_.element or type_
    inner = plain.range_type or plain
    return bool(plain.fields) or (inner.subtype or inner).name in _STYLED


def needs_cluster(query: bound.Query) -> bool:
    """Whether the workers are asked to run a query, even if it turns out that they do not support it."""
    facts = _find_facts(query)
    return facts.reads_tables or facts.has_scores


def _find_facts(query: bound.Query) -> _Facts:
    known = query.prepared.get(_FACTS)
    return query.prepared.put(_FACTS, _gather_facts(query)) if known is None else known


def _gather_facts(query: bound.Query) -> _Facts:
    found = elsewhere = scores = False
    for node in walk(query):
        if isinstance(node, bound.SystemScan | bound.FrameScan) or (isinstance(node, bound.Scan) and node.row_ids):
            elsewhere = True
        found = found or isinstance(node, bound.Scan | bound.FileScan)
        scores = scores or isinstance(node, bound.TreeScore)
    return _Facts(found and not elsewhere, scores)
