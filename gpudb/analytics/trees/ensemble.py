"""An ensemble of trees as flat arrays, the same for kernels (kernels/trees.cuh) and for NumPy.

`nodes` are words of 64 bits. The upper half of a word is a node's description, from its lowest bit on: 12 bits of the
feature that it tests; whether a missing value goes left; whether it is categorical; whether zero is missing; 17 bits of
the distance to its left child, which the right one follows, 0 for a leaf. In an ensemble of single precision the lower
half is a float32: the threshold, or a leaf's value. Else a second word follows, with a float64. A categorical node has
in its place where its set begins in `sets`: the number of words of 32 bits, then these. A leaf of several values has
the number of the first one in `values`.

`roots` are first, for each class, where its trees begin in the rest of `roots`, then the end; then the places of the
roots, by class. `values` are float64: what sums begin with, for each class; the number that sums are divided by; leaves
of several values.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

FEATURE_BITS, LEFT_BITS = 12, 17
MISSING_LEFT, CATEGORICAL, ZERO_MISSING = (1 << FEATURE_BITS + n for n in range(3))
DISTANCE_SHIFT = FEATURE_BITS + 3
MAX_FEATURES, MAX_DISTANCE = 1 << FEATURE_BITS, (1 << LEFT_BITS) - 1
MAX_NODES = 1 << 18
"""A larger ensemble is scored by its library: its arrays travel with each plan."""
MAX_CLASSES = 64
TABLES = ("nodes", "roots", "sets", "values")
"""The arrays, in the order in which kernels take them."""


@dataclass(frozen=True, slots=True)
class TreeShape:
    """What a kernel's source depends on.

    A row goes left where its feature is less than the threshold, or equal where not `strict`. With `single`,
    thresholds, leaves and sums are float32; with `rounded` features are rounded to float32, whatever the thresholds. A
    category in a node's set goes left with `set_left`. With `vectors` a leaf has a value for each class.
    Some nodes are categorical with `sets`; zero is missing to some with `zeros`.
    """

    features: int
    classes: int
    single: bool
    rounded: bool
    strict: bool
    set_left: bool
    vectors: bool
    transform: Literal["identity", "logistic", "exponential"]
    sets: bool = False
    zeros: bool = False


@dataclass(frozen=True, eq=False)
class TreeEnsemble:
    """An ensemble of trees; `depth` is the greatest number of tests on the way to a leaf."""

    shape: TreeShape
    nodes: npt.NDArray[np.int64]
    roots: npt.NDArray[np.uint32]
    sets: npt.NDArray[np.uint32]
    values: npt.NDArray[np.float64]
    depth: int

    @cached_property
    def key(self) -> str:
        """Identifies the ensemble, the same in every process."""
        made = hashlib.sha256(repr((self.shape, self.depth)).encode())
        for each in self.tables:
            made.update(each.tobytes())
        return made.hexdigest()

    @property
    def tables(self) -> tuple[npt.NDArray[Any], ...]:
        """The arrays, those of floats as words of 64 bits."""
        return self.nodes, self.roots, self.sets, self.values.view(np.int64)

    @property
    def trees(self) -> int:
        """The number of trees."""
        return len(self.roots) - self.shape.classes - 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TreeEnsemble) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"TreeEnsemble({self.key[:16]})"
