"""Who gives rows to whom: of each exchange the shares that give, and those that take; and what is begun first."""

from __future__ import annotations

from collections.abc import Sequence

from gpudb.plan.physical.stages import Stage


def runners(stage: Stage, count: int) -> tuple[int, ...]:
    """The shares, of `count`, on which a stage runs."""
    return (0,) if stage.alone else tuple(range(count))


def givers(stage: Stage, taker: int, count: int) -> tuple[int, ...]:
    """The shares whose rows of a stage `taker` gets."""
    given = runners(stage, count)
    if stage.output == "stay":
        return (taker,) if taker in given else ()
    if stage.output == "gather" and taker != 0:
        return ()
    return given


def takers(stages: Sequence[Stage], number: int, giver: int, count: int, chunks: int = 1) -> tuple[int, ...]:
    """The shares that get what `giver` has of a stage's rows, each as often as a stage there reads them.

    Of `chunks` shares that one worker runs the first gets what goes to all.
    """
    step = chunks if stages[number].output == "broadcast" else 1
    found: list[int] = []
    for stage in stages:
        if number in stage.inputs:
            runs = runners(stage, count)[::step]
            found += [taker for taker in runs if giver in givers(stages[number], taker, count)]
    return tuple(found)


def in_need(stages: Sequence[Stage]) -> list[Stage]:
    """The stages, those first for which most others wait one after the other: a worker computes those that it can in
    the order in which they are begun."""
    waiting = dict.fromkeys((stage.number for stage in stages), 0)
    for stage in reversed(stages):
        for number in stage.inputs:
            waiting[number] = max(waiting.get(number, 0), waiting[stage.number] + 1)
    return sorted(stages, key=lambda stage: -waiting[stage.number])
