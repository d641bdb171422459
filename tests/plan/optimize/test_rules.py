"""RULES lists every rule of plan/optimize, and each phase runs its own rules alone."""

from __future__ import annotations

import pkgutil
from collections.abc import Sequence
from typing import cast

from gpudb.plan import optimize as room
from gpudb.plan.optimize import RULES, Phase, Rule, optimize, optimize_aggregate, optimize_request, optimize_stages
from gpudb.plan.tree.functions import find_function
from gpudb.plan.tree.nodes import Aggregate, Node, Project, Values, column
from gpudb.plan.tree.stages import Stage
from gpudb.sql import bound
from gpudb.types import INT4

ONE_ROW = Values(((bound.Constant(1, INT4),),), (INT4,))
SUM = bound.Call(find_function("int4pl", INT4, INT4), (bound.Constant(1, INT4), bound.Constant(2, INT4)), INT4)
PLAN = Project(ONE_ROW, (SUM, column(0, INT4)))


def evaluate(exprs: Sequence[bound.Expr]) -> list[bound.Constant | None]:
    assert list(exprs) == [SUM]
    return [bound.Constant(3, INT4)]


def noted(ran: list[str]) -> tuple[Rule, ...]:
    """Rules of every phase that note their names and change nothing."""

    def rule(phase: str, gpu: bool) -> Rule:
        def apply(what: object, *needed: object) -> object:
            ran.append(phase if gpu else f"{phase} on the host")
            return None if phase == "exchange" else what

        return Rule(cast(Phase, phase), apply, gpu=gpu)

    return tuple(rule(phase, gpu) for phase in ("query", "request", "exchange", "stages") for gpu in (True, False))


def test_every_module_of_the_room_has_a_rule_among_them() -> None:
    modules = {f"{room.__name__}.{each.name}" for each in pkgutil.iter_modules(room.__path__)}
    assert {rule.apply.__module__ for rule in RULES} == modules


def test_each_phase_runs_its_own_rules_in_order() -> None:
    ran: list[str] = []
    rules = noted(ran)
    stage = Stage(0, PLAN, "result", (), (), True)
    assert optimize(PLAN, rules=rules) is PLAN
    assert optimize_request(PLAN, evaluate, rules=rules) is PLAN
    assert optimize_aggregate(Aggregate(PLAN, ()), lambda call: True, lambda node: node, rules=rules) is None
    assert optimize_stages([stage], rules=rules) == [stage]
    assert optimize_stages([stage], gpu=True, rules=rules) == [stage]
    assert ran == [
        *("query", "query on the host", "request", "request on the host", "exchange", "exchange on the host"),
        *("stages", "stages on the host"),
        "stages",
    ]


def test_constants_are_folded_only_where_they_can_be_evaluated() -> None:
    def first(root: Node) -> bound.Expr:
        return cast(Project, root).exprs[0]

    assert first(optimize(PLAN)) == SUM
    assert first(optimize(PLAN, evaluate)) == bound.Constant(3, INT4)
    assert first(optimize_request(PLAN, evaluate)) == bound.Constant(3, INT4)
