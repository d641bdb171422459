"""Reads an ensemble from the text of a model of LightGBM."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from gpudb.analytics.trees.building import NotCompiled, Tree, build_ensemble
from gpudb.analytics.trees.ensemble import TreeEnsemble, TreeShape

_CATEGORICAL, _DEFAULT_LEFT = 1, 2
_ZERO, _NAN = 1, 2
"""Bits of a node's decision_type; and which values are missing, its bits from the third on."""
_TRANSFORMS: dict[str, Literal["identity", "logistic", "exponential"]] = {
    "regression": "identity", "regression_l1": "identity", "huber": "identity", "fair": "identity",
    "quantile": "identity", "mape": "identity", "lambdarank": "identity", "rank_xendcg": "identity",
    "poisson": "exponential", "gamma": "exponential", "tweedie": "exponential", "binary": "logistic",
    "multiclass": "identity",
}  # fmt: skip


def read_lightgbm(content: bytes) -> TreeEnsemble:
    """Returns the ensemble of a booster; NotCompiled for trees with linear leaves, forests and other objectives."""
    head, *parts = content.decode().split("\nTree=")
    if not parts:
        raise NotCompiled
    facts = _read_fields(head)
    objective, *options = facts.get("objective", "").split()
    classes = int(facts["num_class"])
    if objective not in _TRANSFORMS or "average_output" in head.splitlines() or not {"sqrt"}.isdisjoint(options):
        raise NotCompiled
    if objective == "binary" and "sigmoid:1" not in options:
        raise NotCompiled
    if int(facts["num_tree_per_iteration"]) != classes or (classes > 1) is not (objective == "multiclass"):
        raise NotCompiled
    groups: list[list[Tree]] = [[] for _ in range(classes)]
    for number, part in enumerate(parts):
        groups[number % classes].append(_read_tree(_read_fields(part.partition("\nend of trees")[0])))
    features = int(facts["max_feature_idx"]) + 1
    shape = TreeShape(features, classes, False, False, False, True, False, _TRANSFORMS[objective])
    return build_ensemble(shape, groups, [0.0] * classes)


def _read_fields(text: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in text.splitlines())
    return {name: value for name, mark, value in pairs if mark}


def _read_tree(fields: dict[str, str]) -> Tree:
    if int(fields.get("is_linear", "0")):
        raise NotCompiled

    def column(name: str, item: type[np.float64] | type[np.int64] = np.int64) -> npt.NDArray[np.float64 | np.int64]:
        return np.array(fields.get(name, "").split(), item)

    leaf_values = column("leaf_value", np.float64)
    inner = len(leaf_values) - 1
    kinds, thresholds = column("decision_type").astype(np.int64), column("threshold", np.float64)
    count = inner + len(leaf_values)

    def extend(values: npt.NDArray[np.float64 | np.int64], rest: float) -> npt.NDArray[np.float64 | np.int64]:
        return np.concatenate([values, np.full(count - len(values), rest, values.dtype)])

    def place(name: str) -> npt.NDArray[np.int64]:
        # A negative number is a leaf's complement
        found = column(name).astype(np.int64)
        return np.concatenate([np.where(found < 0, inner + ~found, found), np.full(count - inner, -1)])

    missing = kinds >> 2 & 3
    # Where no value is missing, NaN is taken for 0
    goes_left = np.where(missing == 0, thresholds >= 0, kinds & _DEFAULT_LEFT != 0) & (kinds & _CATEGORICAL == 0)
    return Tree(
        place("left_child"),
        place("right_child"),
        extend(column("split_feature"), 0).astype(np.int64),
        np.concatenate([thresholds, leaf_values]),
        extend(goes_left.astype(np.int64), 0).astype(np.bool_),
        extend(((missing == _ZERO) & (kinds & _CATEGORICAL == 0)).astype(np.int64), 0).astype(np.bool_),
        _read_sets(fields, kinds, thresholds),
    )


def _read_sets(
    fields: dict[str, str], kinds: npt.NDArray[np.int64], thresholds: npt.NDArray[np.float64 | np.int64]
) -> dict[int, npt.NDArray[np.int64]]:
    """Returns the categories that go left at categorical nodes, whose threshold is the number of their set."""
    bounds = [int(each) for each in fields.get("cat_boundaries", "").split()]
    words = [int(each) for each in fields.get("cat_threshold", "").split()]
    found = {}
    for node in np.flatnonzero(kinds & _CATEGORICAL).tolist():
        number = int(thresholds[node])
        bits = words[bounds[number] : bounds[number + 1]]
        found[node] = np.array([32 * n + bit for n, word in enumerate(bits) for bit in range(32) if word >> bit & 1])
    return found
