"""Reads an ensemble from the arrays of a forest of scikit-learn (`formats`)."""

from __future__ import annotations

import io

import numpy as np

from gpudb.analytics.trees.building import Tree, build_ensemble
from gpudb.analytics.trees.ensemble import TreeEnsemble, TreeShape


def read_forest(content: bytes) -> TreeEnsemble:
    """Returns the ensemble of a forest: of two classes the share of the second one is summed, of more each one's."""
    arrays = np.load(io.BytesIO(content), allow_pickle=False)
    classes = int(arrays["classes"])
    vectors = classes > 2
    trees = []
    for number in range(sum(name.startswith("nodes") for name in arrays.files)):
        nodes, values = arrays[f"nodes{number}"], arrays[f"values{number}"][:, 0, :].astype(np.float64)
        left = nodes["left_child"].astype(np.int64)
        content_of = np.where(left < 0, values[:, -1], nodes["threshold"])
        trees.append(
            Tree(
                left,
                nodes["right_child"].astype(np.int64),
                nodes["feature"].astype(np.int64),
                content_of,
                nodes["missing_go_to_left"].astype(np.bool_),
                np.zeros(len(left), np.bool_),
                {},
                values if vectors else None,
            )
        )
    width = classes if vectors else 1
    shape = TreeShape(int(arrays["features"]), width, False, True, False, False, vectors, "identity")
    return build_ensemble(shape, [trees], [0.0] * width, float(len(trees)))
