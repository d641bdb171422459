"""Routing of exchanges: the producing and consuming partitions of each stage, and the order in which stages start."""

from __future__ import annotations

from collections.abc import Sequence

from gpudb.plan.tree.stages import Stage


def stage_partitions(stage: Stage, count: int) -> tuple[int, ...]:
    """Returns the partitions, of `count`, on which a stage runs."""
    return (0,) if stage.single_worker else tuple(range(count))


def producers(stage: Stage, consumer: int, count: int) -> tuple[int, ...]:
    """Returns the partitions whose rows of a stage go to partition `consumer`."""
    given = stage_partitions(stage, count)
    if stage.output == "stay":
        return (consumer,) if consumer in given else ()
    if stage.output == "gather" and consumer != 0:
        return ()
    return given


def consumers(stages: Sequence[Stage], number: int, producer: int, count: int, chunks: int = 1) -> tuple[int, ...]:
    """Returns the partitions that read the rows of a stage from partition `producer`, once for each stage that reads
    them.

    Of the `chunks` partitions of one worker, the first takes rows that are broadcast.
    """
    step = chunks if stages[number].output == "broadcast" else 1
    found: list[int] = []
    for stage in stages:
        if number in stage.inputs:
            runs = stage_partitions(stage, count)[::step]
            found += [consumer for consumer in runs if producer in producers(stages[number], consumer, count)]
    return tuple(found)


def order_by_dependents(stages: Sequence[Stage]) -> list[Stage]:
    """Returns the stages by the length of the chain that waits for them, longest first.

    A worker computes ready stages in the order in which they were started.
    """
    waiting = dict.fromkeys((stage.number for stage in stages), 0)
    for stage in reversed(stages):
        for number in stage.inputs:
            waiting[number] = max(waiting.get(number, 0), waiting[stage.number] + 1)
    return sorted(stages, key=lambda stage: -waiting[stage.number])
