"""Stages without a cluster: every worker's partition of every stage, one after the other, in this process."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pyarrow as pa

from gpudb.engine.figures import NarrowedScan
from gpudb.engine.gpu.backend.base import Backend, ComputedFrame
from gpudb.engine.gpu.backend.host import HostBackend
from gpudb.engine.gpu.cache.host_columns import ResidentTables
from gpudb.engine.gpu.cache.partition import Partition
from gpudb.engine.gpu.exchange.result_codec import to_batch
from gpudb.engine.gpu.exchange.routing import producers, stage_partitions
from gpudb.engine.gpu.fused.packed_cache.packed_tables import PackedTables
from gpudb.engine.gpu.planning.request_planner import Planner
from gpudb.engine.gpu.stage.stage_executor import Kernels, StageTask, TableSource, execute_stage, finish_stage
from gpudb.engine.protocol import Engine, Request
from gpudb.plan.physical.exchange_planning import Costs
from gpudb.plan.tree.stages import Stage
from gpudb.types import SqlType
from gpudb.values.text_columns import format_text_column

TABLES = ResidentTables(2**30)
PACKED = PackedTables(2**30)
FRAMES = HostBackend()


def rows(
    request: Request,
    workers: int,
    constants: Engine,
    costs: Costs | None = None,
    frames: Backend = FRAMES,
    tables: TableSource = TABLES,
    kernels: Kernels | None = None,
    narrowed: list[NarrowedScan] | None = None,
    chunks: int = 1,
) -> list[tuple[str | None, ...]]:
    """A request's rows as text, computed by `workers` partitions. `costs` decide on exchanges, `kernels` compute the
    fused parts of the plan, `narrowed` receives the filtered scans. Each partition is divided into `chunks`.
    """
    planner = Planner(constants, replace(costs or Costs(), workers=workers), fuse=kernels is not None)
    planned = planner.plan(request, chunks=chunks)
    plan, stages = planned.plan, planned.stages
    workers *= chunks
    kinds = tuple(column.type for column in plan.columns)
    given: dict[int, dict[int, list[ComputedFrame]]] = {}
    declined: set[int] = set()
    for stage in stages:
        given[stage.number] = {}
        for index in stage_partitions(stage, workers):
            seen = [] if narrowed is None else narrowed
            share, zone = Partition(index, workers, chunks), request.settings.timezone
            task = StageTask(stage, share, request.parameters, zone, narrowed_scans=seen, declined=declined)
            received = received_by(stage, stages, given, index, workers)
            done = finish_stage(task, received)
            if done is not None:
                return as_text([done.batch], kinds)
            given[stage.number][index] = execute_stage(task, tables, received, frames, kernels)
    return as_text((to_batch(part.to_polars(), kinds) for (part,) in given[stages[-1].number].values()), kinds)


def as_text(batches: Iterable[pa.RecordBatch], kinds: Sequence[SqlType]) -> list[tuple[str | None, ...]]:
    """Returns rows as a client sees them."""
    found: list[tuple[str | None, ...]] = []
    for batch in batches:
        texts = [
            format_text_column(kind, column).to_pylist() for kind, column in zip(kinds, batch.columns, strict=True)
        ]
        found += zip(*texts, strict=True)
    return found


def received_by(
    stage: Stage, stages: list[Stage], given: dict[int, dict[int, list[ComputedFrame]]], index: int, workers: int
) -> dict[int, list[ComputedFrame]]:
    """Returns the input of a stage on a worker from the outputs of the stages before it."""
    found: dict[int, list[ComputedFrame]] = {}
    for number in stage.inputs:
        parts = [given[number][giver] for giver in producers(stages[number], index, workers)]
        found[number] = [frames[index if len(frames) > 1 else 0] for frames in parts]
    return found
