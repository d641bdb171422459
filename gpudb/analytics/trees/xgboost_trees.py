"""Reads an ensemble from a model of XGBoost, as its library writes it in JSON."""

from __future__ import annotations

import json
from typing import Any, Literal

import numpy as np

from gpudb.analytics.libraries import load_library
from gpudb.analytics.trees.building import NotCompiled, Tree, build_ensemble
from gpudb.analytics.trees.ensemble import TreeEnsemble, TreeShape

_TRANSFORMS: dict[str, Literal["identity", "logistic", "exponential"]] = {
    "reg:squarederror": "identity", "reg:absoluteerror": "identity", "reg:pseudohubererror": "identity",
    "reg:squaredlogerror": "identity", "rank:pairwise": "identity", "rank:ndcg": "identity", "rank:map": "identity",
    "reg:logistic": "logistic", "binary:logistic": "logistic", "binary:logitraw": "identity",
    "count:poisson": "exponential", "reg:gamma": "exponential", "reg:tweedie": "exponential",
    "survival:cox": "exponential", "survival:aft": "exponential", "multi:softprob": "identity",
}  # fmt: skip
"""What each objective makes of a row's sum. Softmax keeps the order of classes, which alone is asked for."""


def read_xgboost(content: bytes) -> TreeEnsemble:
    """Returns the ensemble of a booster; NotCompiled for linear boosters, DART, leaves of vectors, other objectives."""
    booster = load_library("xgboost").Booster()
    booster.load_model(bytearray(content))
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    objective, parameters = learner["objective"]["name"], learner["learner_model_param"]
    classes = max(int(parameters.get("num_class", 0)), 1)
    if objective not in _TRANSFORMS or learner["gradient_booster"]["name"] != "gbtree":
        raise NotCompiled
    if int(parameters.get("num_target", 1)) > 1 or (classes > 1) is not (objective == "multi:softprob"):
        raise NotCompiled
    model = learner["gradient_booster"]["model"]
    groups: list[list[Tree]] = [[] for _ in range(classes)]
    for each, group in zip(model["trees"], model["tree_info"], strict=True):
        groups[group].append(_read_tree(each))
    base = _read_base(str(parameters["base_score"]), classes, _TRANSFORMS[objective])
    transform = _TRANSFORMS[objective]
    features = int(booster.num_features())
    shape = TreeShape(features, classes, True, True, True, False, False, transform)
    return build_ensemble(shape, groups, base)


def _read_base(text: str, classes: int, transform: str) -> list[float]:
    """Returns what sums begin with, of which the model has what the objective makes of it."""
    given = np.array([float(each) for each in text.strip("[]").split(",")], np.float32)
    if transform == "logistic":
        given = -np.log(np.float32(1) / given - np.float32(1))
    elif transform == "exponential":
        given = np.log(given)
    if not np.isfinite(given).all():
        raise NotCompiled
    return [float(each) for each in np.broadcast_to(given, classes)]


def _read_tree(tree: dict[str, Any]) -> Tree:
    if int(tree["tree_param"].get("size_leaf_vector", 1)) > 1:
        raise NotCompiled
    left = np.array(tree["left_children"], np.int64)
    sets = {}
    for node, start, size in zip(
        tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"], strict=True
    ):
        sets[int(node)] = np.array(tree["categories"][start : start + size], np.int64)
    return Tree(
        left,
        np.array(tree["right_children"], np.int64),
        np.array(tree["split_indices"], np.int64),
        np.array(tree["split_conditions"], np.float32),
        np.array(tree["default_left"], np.bool_),
        np.zeros(len(left), np.bool_),
        sets,
    )
