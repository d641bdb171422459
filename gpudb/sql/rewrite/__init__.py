"""Constructs normalised before binding, one rule a file: each a plain function from parse tree to parse tree.

A rule changes nothing of what a statement means; `tests/sql/rewrite/NAME.sql` shows text before and after it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpudb.sql.rewrite.select_into import select_into

Rule = Callable[[Any], Any]

RULES: tuple[Rule, ...] = (select_into,)


def rewrite(node: Any) -> Any:
    """The statement with every rule applied, in the order of `RULES`."""
    for rule in RULES:
        node = rule(node)
    return node
