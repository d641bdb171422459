"""What encoding needs of the planner above it: plans of whole queries, WITH queries by reference, fresh numbers."""

from __future__ import annotations

from typing import Protocol

from gpudb.plan.tree.nodes import Node
from gpudb.sql import bound

Ctes = tuple[bound.Cte, ...]
"""The WITH queries that are visible to a block."""


class BlockPlanner(Protocol):
    """Plans whole queries and allocates numbers."""

    def plan_block(self, query: bound.Query, ctes: Ctes) -> Node:
        """Returns a query's node."""

    def resolve_cte(self, source: bound.CteScan, ctes: Ctes) -> Node | bound.Query:
        """Resolves a reference to a WITH query to its shared node, or to the query itself if it is inlined."""

    def next_number(self) -> int:
        """Returns a number that no relation has."""
