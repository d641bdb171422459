"""Stages without a cluster: every worker's part of every stage, one after the other, in this process."""

from __future__ import annotations

from typing import Any

import polars as pl

from gpudb.engine.gpu.outcome import to_batch
from gpudb.engine.gpu.planning import planned
from gpudb.engine.gpu.resident import ResidentTables, Share
from gpudb.engine.gpu.stage import Task, compute
from gpudb.engine.protocol import Engine, Request
from gpudb.plan.stages import Stage

TABLES = ResidentTables(2**30)


def rows(request: Request, workers: int, constants: Engine) -> list[tuple[Any, ...]]:
    """A request's rows as so many workers make them."""
    plan, stages = planned(request, constants)
    given: dict[int, dict[int, list[pl.DataFrame]]] = {}
    for stage in stages:
        runners = [0] if stage.alone else range(workers)
        given[stage.number] = {
            index: compute(_task(stage, index, workers, request), TABLES, _received(stage, stages, given, index))
            for index in runners
        }
    kinds = tuple(column.type for column in plan.columns)
    found: list[tuple[Any, ...]] = []
    for (part,) in given[stages[-1].number].values():
        batch = to_batch(part, kinds)
        found += zip(*(column.to_pylist() for column in batch.columns), strict=True)
    return found


def _task(stage: Stage, index: int, workers: int, request: Request) -> Task:
    return Task(0, stage, Share(index, workers), (), {}, request.parameters)


def _received(
    stage: Stage, stages: list[Stage], given: dict[int, dict[int, list[pl.DataFrame]]], index: int
) -> dict[int, list[pl.DataFrame]]:
    received: dict[int, list[pl.DataFrame]] = {}
    for number in stage.inputs:
        output, parts = stages[number].output, given[number]
        if output == "hash":
            received[number] = [each[index] for each in parts.values()]
        elif output == "stay":
            received[number] = parts.get(index, [])
        else:
            received[number] = [each[0] for each in parts.values()] if output == "broadcast" or index == 0 else []
    return received
