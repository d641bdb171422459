"""Plans a request: optimises the query's plan, folds constants, and cuts it into stages over the snapshot's tables."""

from __future__ import annotations

import hashlib
import math
import pickle
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property

import pyarrow as pa

from gpudb.catalog.tables import Table
from gpudb.engine.admission import Cost
from gpudb.engine.gpu.exchange.result_codec import result_schema
from gpudb.engine.gpu.fastpath.two_phase import TwoPhasePlan, split_phases
from gpudb.engine.gpu.fused.planning.matching import DEVICE_GROUPS, DEVICE_ROWS, Limits, fuse_parts
from gpudb.engine.gpu.lower.groups.aggregates import is_mergeable
from gpudb.engine.gpu.lower.texts.code_uses import mark_coded_outputs
from gpudb.engine.gpu.planning.capability import check_functions, check_stages
from gpudb.engine.gpu.planning.constants import make_evaluator
from gpudb.engine.gpu.planning.file_scans import check_file_columns, open_file_scans
from gpudb.engine.gpu.planning.statement_cost import estimate_cost
from gpudb.engine.gpu.stage.batching import MemorySpace, choose_chunks, max_build_rows, max_cached_build_rows
from gpudb.engine.protocol import Engine, Request
from gpudb.lru import LruCache
from gpudb.plan.cost.estimate import estimate
from gpudb.plan.logical.query_planner import plan_query
from gpudb.plan.optimize import RULES, Rule, optimize, optimize_request, optimize_stages
from gpudb.plan.optimize.fold_constants import Evaluate
from gpudb.plan.physical.exchange_planning import Costs
from gpudb.plan.physical.stage_cutting import cut_stages
from gpudb.plan.tree.nodes import WHOLE, Node, Plan, Scan
from gpudb.plan.tree.stages import Stage
from gpudb.plan.tree.traversal import rebuild, transform, walk_nodes
from gpudb.sql import bound
from gpudb.sql.prepared import Artifact, Prepared

CHUNKED_SECONDS = 60.0
"""Time for which a plan keeps more chunks than estimated after memory ran out: others may have used the memory."""
_MAX_PLANS = 256
_COSTS = Costs()
_GPU_COSTS = Costs(range=10_000_000, gathered=8_000_000, small=1_000_001)
"""A GPU sorts millions of rows, groups them, and reads a small table in less time than an exchange takes."""


def exchange_costs(workers: int, *, gpu: bool) -> Costs:
    """Returns the costs by which exchanges are chosen among `workers`."""
    return replace(_GPU_COSTS if gpu else _COSTS, workers=workers)


@dataclass(frozen=True)
class PhysicalPlan:
    """A plan over a snapshot, its stages, and their estimated cost."""

    plan: Plan
    stages: list[Stage]
    cost: Cost
    chunks: int = 1
    """The number of chunks of each worker's partition."""

    @cached_property
    def encoded_stages(self) -> bytes:
        """The pickled stages, as workers receive them."""
        return pickle.dumps(self.stages)

    @cached_property
    def digest(self) -> bytes:
        """Digest of the stages, which covers plan and snapshot."""
        return hashlib.blake2b(self.encoded_stages, digest_size=16).digest()

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """The tables that the plan reads."""
        return tuple(node.table for node in walk_nodes(self.plan.root) if isinstance(node, Scan))

    @cached_property
    def device_functions(self) -> tuple[str, ...]:
        """The PL/CUDA functions and aggregates that the plan calls."""
        called: dict[str, None] = {}

        def look(each: object) -> None:
            if isinstance(each, bound.Call | bound.Aggregate) and (each.function.code or each.function.fold):
                called[str(each.function)] = None

        for node in walk_nodes(self.plan.root):
            for each in fields(node):
                if not isinstance(value := getattr(node, each.name), Node):
                    transform(value, look)
        return tuple(called)

    @cached_property
    def schema(self) -> pa.Schema:
        """The schema of its rows."""
        return result_schema(tuple(column.type for column in self.plan.columns))

    @cached_property
    def two_phase(self) -> TwoPhasePlan | None:
        """The two phases of the plan; None if it cannot be split."""
        return split_phases(self.stages)


@dataclass
class _CachedPlan:
    """The plan of a query, and its latest stages with the tables that they read."""

    plan: Plan
    scanned: tuple[Table, ...]
    tables: tuple[Table, ...] = ()
    stages: PhysicalPlan | None = None
    expires: float = math.inf
    """The monotonic time at which the stages expire."""
    fused: bool = False
    """Whether kernels compute parts of them."""
    host_functions: dict[bool, Mapping[int, tuple[str, ...]]] = field(default_factory=dict)
    """The host's functions in each stage, with kernels and without."""


class Planner:
    """Plans queries; caches the plan of each query.

    `constants` evaluates constant expressions, `costs` have the number of workers, `rules` are the optimiser's,
    `optimize` is `plan_query`'s. With `fuse` the parts that one kernel computes become one node; on a `gpu` they are
    cheap.
    """

    def __init__(
        self,
        constants: Engine,
        costs: Costs = _COSTS,
        *,
        fuse: bool = False,
        gpu: bool = False,
        rules: Sequence[Rule] = RULES,
        optimize: bool = False,
    ) -> None:
        self._constants = constants
        self._fuse, self._gpu = fuse, gpu
        self._costs = costs
        self._rules, self._optimize = rules, optimize
        # A query owns its plan; this only bounds how many do.
        self._artifact = Artifact[_CachedPlan]()
        self._recent: LruCache[Prepared, Prepared] = LruCache(
            _MAX_PLANS, on_evict=lambda prepared, _: prepared.discard(self._artifact)
        )
        self._lock = threading.Lock()

    def plan(self, request: Request, space: MemorySpace | None = None, chunks: int = 0) -> PhysicalPlan:
        """Returns the plan and its stages over the snapshot. NotSupportedOnWorkers names what the workers do not
        support.

        Each worker's partition is cut into `chunks`, or for 0 into as many as the memory in `space` requires. The
        stages are cached while the tables have the same files, unless constants depend on the request. Stages with
        explicit `chunks` expire after CAREFUL_SECONDS.
        """
        evaluate = make_evaluator(self._constants, request)
        kept = self._get_or_plan(request.query, evaluate)
        tables = tuple(map(request.table, kept.scanned))
        fuse = self._fuses(request)
        found = self._valid_stages(kept, tables, fuse)
        if found is not None and chunks in {0, found.chunks}:
            return found
        ends = time.monotonic() + CHUNKED_SECONDS if chunks else math.inf
        computed = False

        def counted(exprs: Sequence[bound.Expr]) -> Sequence[bound.Constant | None]:
            nonlocal computed
            computed = True
            return evaluate(exprs)

        def current(node: Node) -> Node:
            # The bound query may be older than the snapshot.
            if not isinstance(node, Scan):
                return node
            table = request.table(node.table)
            return node if table is node.table else replace(node, table=table)

        root = rebuild(optimize_request(kept.plan.root, counted, rules=self._rules), current)
        workers = self._costs.workers
        physical = fuse_parts(root, estimate, request.parameters, self._kernel_limits(space)) if fuse else root
        if not chunks:
            chunks = choose_chunks(physical, workers, space) if space is not None else 1
        stages = self._apply_stage_rules(cut_stages(physical, is_mergeable, self._chunked_costs(chunks, space)))
        if fuse not in kept.host_functions:
            kept.host_functions[fuse] = check_stages(stages, request.parameters)
        # Polars computes on the host what the GPU does not.
        cost = estimate_cost(physical, workers, gpu=self._gpu and not any(kept.host_functions[fuse].values()))
        cost = replace(cost, bytes=cost.bytes // chunks)
        made = PhysicalPlan(Plan(root, kept.plan.columns), stages, cost, chunks)
        if not computed:
            with self._lock:
                kept.tables, kept.stages, kept.expires, kept.fused = tables, made, ends, fuse
        return made

    def cached_plan(self, request: Request) -> PhysicalPlan | None:
        """Returns the cached stages of a query; None if `planned` would plan."""
        kept = request.query.prepared.get(self._artifact)
        if kept is None:
            return None
        self._recent.get(request.query.prepared)
        return self._valid_stages(kept, tuple(map(request.table, kept.scanned)), self._fuses(request))

    def _valid_stages(self, kept: _CachedPlan, tables: tuple[Table, ...], fuse: bool) -> PhysicalPlan | None:
        """Returns the cached stages if they read these tables."""
        with self._lock:
            if kept.stages is None or kept.fused != fuse or time.monotonic() >= kept.expires:
                return None
            same = all(a is b for a, b in zip(tables, kept.tables, strict=True))
            return kept.stages if same else None

    def _kernel_limits(self, space: MemorySpace | None) -> Limits:
        """Returns the limits of kernels for the memory in `space`."""
        costs = self._costs
        made = Limits(costs.scan, workers=costs.workers)
        if self._gpu:
            made = replace(made, build=DEVICE_ROWS, groups=DEVICE_GROUPS)
        if space is not None:
            made = replace(made, build=min(made.build, max_build_rows(space)), kept=max_cached_build_rows(space))
        return made

    def _apply_stage_rules(self, stages: Sequence[Stage]) -> list[Stage]:
        """Applies the rules for stages."""
        return mark_coded_outputs(optimize_stages(stages, gpu=self._gpu, rules=self._rules))

    def _chunked_costs(self, chunks: int, space: MemorySpace | None) -> Costs:
        """Returns the exchange costs with one partition per chunk."""
        if chunks == 1:
            return self._costs
        # Broadcast rows stay in memory beside each chunk.
        most = self._costs.broadcast if space is None else min(self._costs.broadcast, space.statements // 8)
        return replace(self._costs, workers=self._costs.workers * chunks, chunks=chunks, broadcast=most, small=0)

    def _fuses(self, request: Request) -> bool:
        return self._fuse and request.settings.fused

    def host_functions(self, request: Request) -> Mapping[int, tuple[str, ...]]:
        """Returns the host's functions in each stage of a planned query."""
        kept = request.query.prepared.get(self._artifact)
        return {} if kept is None else kept.host_functions.get(self._fuses(request), {})

    def plan_for_worker(self, request: Request, worker: int) -> PhysicalPlan:
        """Returns the plan for one worker, over the rows of its partition."""
        evaluate = make_evaluator(self._constants, request)
        kept = self._get_or_plan(request.query, evaluate)

        def own(node: Node) -> Node:
            if not isinstance(node, Scan):
                return node
            table = request.table(node.table)
            return replace(node, table=table, part=WHOLE if table.replicated else (worker, self._costs.workers))

        root = rebuild(optimize_request(kept.plan.root, evaluate, rules=self._rules), own)
        stages = self._apply_stage_rules(cut_stages(root, is_mergeable, replace(self._costs, workers=1, small=0)))
        check_stages(stages, request.parameters)
        return PhysicalPlan(Plan(root, kept.plan.columns), stages, estimate_cost(root, 1, gpu=self._gpu))

    def _get_or_plan(self, query: bound.Query, evaluate: Evaluate) -> _CachedPlan:
        kept = query.prepared.get(self._artifact)
        if kept is not None:
            self._recent.get(query.prepared)
            return kept
        check_functions(query)
        plan = plan_query(open_file_scans(query), estimate, optimize=self._optimize)
        # Includes tables whose scans the rules have removed.
        scanned = tuple(node.table for node in walk_nodes(plan.root) if isinstance(node, Scan))
        plan = Plan(optimize(plan.root, evaluate, rules=self._rules), plan.columns)
        check_file_columns(plan.root)
        kept = _CachedPlan(plan, tuple({table.oid: table for table in scanned}.values()))
        query.prepared.put(self._artifact, kept)
        self._recent.put(query.prepared, query.prepared)
        return kept
