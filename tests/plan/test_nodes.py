"""Nodes of plans are slotted and frozen; pickling and rebuilding drop what they cache."""

from __future__ import annotations

import dataclasses
import pickle

import pytest

from gpudb.plan.cost.estimate import copy_profile, estimate, profile
from gpudb.plan.tree import fused_nodes, nodes, stage_nodes
from gpudb.plan.tree.nodes import Filter, Join, Node, Project, Values, column
from gpudb.plan.tree.stage_nodes import Receive
from gpudb.sql import bound
from gpudb.types import BOOL, INT4, INT8

KINDS = [
    each
    for module in (nodes, stage_nodes, fused_nodes)
    for each in vars(module).values()
    if isinstance(each, type) and issubclass(each, Node) and each.__module__ == module.__name__
    if dataclasses.is_dataclass(each)
]


def values(rows: int) -> Values:
    return Values(tuple((bound.Constant(number, INT4),) for number in range(rows)), (INT4,))


@pytest.mark.parametrize("kind", KINDS)
def test_nodes_are_frozen_and_have_slots_alone(kind: type[Node]) -> None:
    assert kind.__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert all("__slots__" in vars(each) for each in kind.__mro__ if each is not object)
    with pytest.raises((AttributeError, TypeError)):
        object.__setattr__(object.__new__(kind), "unknown", 1)


def test_what_is_cached_is_no_part_of_a_node() -> None:
    one, other = values(3), values(3)
    join = Join("INNER", one, values(2), ((column(0, INT4), column(0, INT4)),))
    wide = Project(join, (column(1, INT4), bound.Constant(1, INT8)))
    assert wide.types == (INT4, INT8)
    assert wide.names == ("column1", "column2")
    assert estimate(wide) > 0
    again = pickle.loads(pickle.dumps(wide))
    assert again == wide
    assert again.types == wide.types
    assert pickle.dumps(again) == pickle.dumps(Project(wide.input, wide.exprs))
    assert one.types == (INT4,)
    assert one == other
    assert hash(one) == hash(other)


def test_other_inputs_make_a_node_that_computes_its_columns_anew() -> None:
    kept = Filter(values(3), bound.Constant(True, BOOL))
    assert kept.types == (INT4,)
    assert kept.with_inputs(kept.input) is kept
    wide = Values(((bound.Constant(1, INT8), bound.Constant(2, INT8)),), (INT8, INT8))
    made = kept.with_inputs(wide)
    assert made.types == (INT8, INT8)
    assert made.inputs == (wide,)
    assert made.condition == kept.condition


def test_a_leaf_takes_the_profile_of_the_node_that_produces_its_rows() -> None:
    leaf = Receive(0, (("a", INT4),), rows=1)
    assert profile(copy_profile(leaf, values(7))).rows == 7


def test_an_unknown_attribute_is_an_error() -> None:
    with pytest.raises(AttributeError, match="Values has no attribute 'rel'"):
        values(1).rel  # type: ignore[attr-defined] # noqa: B018
