"""Builds the arrays of an ensemble from trees of nodes, each tree's nodes by their depth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gpudb.analytics.trees.ensemble import (
    CATEGORICAL,
    DISTANCE_SHIFT,
    MAX_CLASSES,
    MAX_DISTANCE,
    MAX_FEATURES,
    MAX_NODES,
    MISSING_LEFT,
    ZERO_MISSING,
    TreeEnsemble,
    TreeShape,
)


class NotCompiled(Exception):
    """Raised for a model that has no arrays: its library scores rows."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A tree's nodes: `left` and `right` are numbers of nodes, -1 at a leaf.

    `content` is a threshold, at a leaf its value or, with `leaves`, anything; `sets` are the categories of categorical
    nodes. `missing_left` and `zero_missing` are arrays of booleans.
    """

    left: npt.NDArray[np.int64]
    right: npt.NDArray[np.int64]
    feature: npt.NDArray[np.int64]
    content: npt.NDArray[Any]
    missing_left: npt.NDArray[np.bool_]
    zero_missing: npt.NDArray[np.bool_]
    sets: dict[int, npt.NDArray[np.int64]]
    leaves: npt.NDArray[np.float64] | None = None


def build_ensemble(
    shape: TreeShape, classes: Sequence[Sequence[Tree]], base: Sequence[float], divisor: float = 1.0
) -> TreeEnsemble:
    """Returns the ensemble of the trees of each class; NotCompiled beyond the limits of the arrays."""
    count = sum(len(tree.left) for trees in classes for tree in trees)
    if shape.features > MAX_FEATURES or shape.classes > MAX_CLASSES or count > MAX_NODES:
        raise NotCompiled
    made = _Arrays(shape, [*base, divisor])
    starts, roots = [0], list[int]()
    for trees in classes:
        roots += [made.add(tree) for tree in trees]
        starts.append(len(roots))
    starts += [starts[-1]] * (shape.classes + 1 - len(starts))
    every = [tree for trees in classes for tree in trees]
    sets, zeros = any(tree.sets for tree in every), any(tree.zero_missing.any() for tree in every)
    return TreeEnsemble(
        replace(shape, sets=sets, zeros=bool(zeros)),
        np.array(made.words, np.uint64).view(np.int64),
        np.array([*starts, *roots], np.uint32),
        np.array(made.sets or [0], np.uint32),
        np.array(made.values, np.float64),
        made.depth,
    )


class _Arrays:
    def __init__(self, shape: TreeShape, values: list[float]) -> None:
        self._shape = shape
        self.words: list[int] = []
        self.sets: list[int] = []
        self.values = values
        self.depth = 0

    def add(self, tree: Tree) -> int:
        """Adds a tree's nodes, level by level, so that siblings are together; returns the place of its root."""
        root = len(self.words) if self._shape.single else len(self.words) // 2
        order, places, depth = list[int](), {0: 0}, -1
        level = [0]
        while level:
            order += level
            depth += 1
            parents = [node for node in level if tree.left[node] >= 0]
            level = [int(child) for node in parents for child in (tree.left[node], tree.right[node])]
            places |= {node: len(order) + number for number, node in enumerate(level)}
        self.depth = max(self.depth, depth)
        for place, node in enumerate(order):
            distance = places[int(tree.left[node])] - place if tree.left[node] >= 0 else 0
            if distance > MAX_DISTANCE:
                raise NotCompiled
            self._add_node(tree, node, distance)
        return root

    def _add_node(self, tree: Tree, node: int, distance: int) -> None:
        head = distance << DISTANCE_SHIFT
        content = tree.content[node]
        number: int | None = None
        if not distance:
            if tree.leaves is not None:
                number = len(self.values)
                self.values += tree.leaves[node].tolist()
        else:
            head |= int(tree.feature[node]) | MISSING_LEFT * bool(tree.missing_left[node])
            head |= ZERO_MISSING * bool(tree.zero_missing[node])
            if node in tree.sets:
                head |= CATEGORICAL
                number = self._add_set(tree.sets[node])
        if self._shape.single:
            low = int(np.float32(content).view(np.uint32)) if number is None else number
            self.words.append(head << 32 | low)
        else:
            self.words += [head << 32, int(np.float64(content).view(np.uint64)) if number is None else number]

    def _add_set(self, categories: npt.NDArray[np.int64]) -> int:
        words = [0] * (int(categories.max(initial=0)) // 32 + 1)
        for each in categories.tolist():
            words[each // 32] |= 1 << each % 32
        place = len(self.sets)
        self.sets += [len(words), *words]
        return place
