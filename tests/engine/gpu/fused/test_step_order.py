"""Estimated number of steps of a pipeline after which few rows are left."""

from __future__ import annotations

import pytest

from gpudb.engine.gpu.fused.ir.pipeline import BOOLEAN, Compare, Expr, Field, Filter, Literal, Logic, Lookup
from gpudb.engine.gpu.fused.ir.step_order import estimate_few_after

FIELD = Field((0, 9), False, 0)


def compared(op: str, value: int = 3) -> Compare:
    return Compare(BOOLEAN, False, op, FIELD, Literal((value, value), False, value, True))  # type: ignore[arg-type]


def logic(op: str, *args: Expr) -> Logic:
    return Logic(BOOLEAN, False, op, args)  # type: ignore[arg-type]


def lookup(number: int) -> Lookup:
    return Lookup(number, "inner", (FIELD,), (0,), (9,), False, True, (), (), (), True)


LESS, SAME = Filter(compared("<")), Filter(compared("=="))


@pytest.mark.parametrize(
    ("steps", "few"),
    [
        ((), None),
        ((LESS,), None),
        ((SAME, LESS), 2),
        # Adjacent filters are one step.
        ((SAME, LESS, LESS, lookup(1)), 3),
        ((LESS, lookup(1), lookup(2)), None),
        ((lookup(0), lookup(1)), 1),
        ((lookup(2), lookup(2), lookup(1)), 2),
        ((Filter(logic("AND", SAME.condition, LESS.condition)),), 1),
        ((Filter(logic("OR", SAME.condition, SAME.condition)),), None),
        ((Filter(logic("NOT", compared("!="))),), 1),
    ],
)
def test_few_rows_are_left(steps: tuple[Filter | Lookup, ...], few: int | None) -> None:
    leaving = {0: 0.05, 1: 1.0, 2: 0.3}
    assert estimate_few_after(steps, leaving, last=False) == few
    assert estimate_few_after(steps, leaving, last=True) == (few or len(steps) or None)


def test_it_is_the_same_for_all_constants() -> None:
    for op in ("<", "==", "!="):
        made = {estimate_few_after((LESS, Filter(compared(op, value)), LESS), {}, last=False) for value in range(10)}
        assert len(made) == 1
