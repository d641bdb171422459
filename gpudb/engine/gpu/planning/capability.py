"""Checks before execution whether workers support a plan: every stage is lowered over empty frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import polars as pl

from gpudb.engine.gpu.backend.base import ComputedFrame, SortOrder
from gpudb.engine.gpu.backend.exact_calls import ExactCall, exact_columns
from gpudb.engine.gpu.backend.host import HostBackend, HostFrame
from gpudb.engine.gpu.cache.host_columns import ResidentTables
from gpudb.engine.gpu.cache.partition import Partition
from gpudb.engine.gpu.lower.expressions.host_fallback import HostFallback
from gpudb.engine.gpu.stage.stage_executor import StageTask, execute_stage
from gpudb.errors import GpudbError
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.plan.tree.fused_nodes import Fused
from gpudb.plan.tree.nodes import Node, Scan
from gpudb.plan.tree.stages import Stage
from gpudb.plan.tree.traversal import rebuild
from gpudb.sql import bound
from gpudb.sql.traverse import walk

_NOTHING = ResidentTables(0)
_MAX_FRAMES = 4096


class _EmptyBackend(HostBackend):
    """A backend without rows: it only computes types."""

    def compute(self, lazy: pl.LazyFrame) -> HostFrame:
        return HostFrame(self.compute_on_host(lazy, ""))

    def compute_on_host(self, lazy: pl.LazyFrame, why: str) -> pl.DataFrame:
        return _empty_frame(tuple(lazy.collect_schema().items()))

    def compute_exact(self, lazy: pl.LazyFrame, calls: Sequence[ExactCall]) -> HostFrame:
        lazy.collect_schema()
        return HostFrame(_empty_frame(tuple(column for call in calls for column in exact_columns(call))))

    def prefilter_top(
        self, lazy: pl.LazyFrame, key: pl.Expr, order: SortOrder, count: int, *, again: bool
    ) -> pl.LazyFrame:
        return lazy

    def partition_by_hash(
        self, lazy: pl.LazyFrame, keys: Sequence[pl.Expr], count: int, *, away: bool = False
    ) -> list[ComputedFrame]:
        lazy.select(key.alias(f"h{number}") for number, key in enumerate(keys)).collect_schema()
        return [self.compute(lazy)]


@lru_cache(_MAX_FRAMES)
def _empty_frame(columns: tuple[tuple[str, pl.DataType], ...]) -> pl.DataFrame:
    return pl.DataFrame(schema=dict(columns))


_FRAMES = _EmptyBackend()


def check_functions(query: bound.Query) -> None:
    """Raises NotSupportedOnWorkers for a volatile function, even in an unused column: pruning would drop its effect
    or its error.
    """
    for node in walk(query):
        if isinstance(node, bound.Call | bound.SetReturning | bound.FunctionScan) and node.function.volatile:
            raise NotSupportedOnWorkers(f"volatile function {node.function}")


def check_stages(stages: Sequence[Stage], parameters: tuple[object, ...]) -> dict[int, tuple[str, ...]]:
    """Returns the host's functions in each stage, by the stage's number.

    Raises NotSupportedOnWorkers for the first stage that no worker supports; errors of the statement itself are left to
    its run.
    """

    def empty(node: Node) -> Node:
        if isinstance(node, Fused):
            return replace(node, root=rebuild(node.root, empty))
        return replace(node, table=replace(node.table, files=())) if isinstance(node, Scan) else node

    given: dict[int, list[ComputedFrame]] = {}
    hosted: dict[int, tuple[str, ...]] = {}
    for stage in stages:
        dry = replace(stage, root=rebuild(stage.root, empty), dynamic_filters=())
        received = {number: given[number][:1] for number in stage.inputs}
        try:
            host = HostFallback(parameters, dry=True)
            task = StageTask(dry, Partition(0, 1), parameters)
            given[stage.number] = execute_stage(task, _NOTHING, received, _FRAMES, asked=host)
            hosted[stage.number] = tuple(dict.fromkeys(host.used))
        except GpudbError:
            break
    return hosted
