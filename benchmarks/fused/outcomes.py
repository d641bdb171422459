"""Equality of two outcomes of a pipeline, by a kernel and by the NumPy backend; needs NumPy alone."""

from __future__ import annotations

from typing import Any

import numpy as np


def outcomes_equal(one: Any, other: Any) -> bool:
    """Returns whether outcomes are equal: the error, groups and their words (floats to 1e-9), or rows in any order."""
    if one.code or other.code:
        return bool(one.code == other.code)
    if one.grouped is None:
        return np.array_equal(_sort_rows(one.rows), _sort_rows(other.rows))
    a, b = one.grouped, other.grouped
    if a.groups.shape != b.groups.shape and max(a.groups.shape[1], b.groups.shape[1]) == 1:
        # Without keys there is one group; without rows the kernel returns it and the NumPy backend does not.
        some = a if a.groups.shape[1] else b
        return bool(some.words[0][0] == 0)
    return np.array_equal(a.groups, b.groups) and all(
        np.allclose(x, y, rtol=1e-9, equal_nan=True) if x.dtype.kind == "f" else np.array_equal(x, y)
        for x, y in zip(a.words, b.words, strict=True)
    )


def _sort_rows(columns: Any) -> Any:
    """Rows as integers, sorted: each value's validity and bits."""
    lanes = []
    for values, valid in columns:
        there = np.ones(len(values), bool) if valid is None else np.asarray(valid, bool)
        lanes.append(there.astype(np.int64))
        if values.dtype == object:
            parts = [values >> 64, (values & (2**64 - 1)) - 2**63]
        else:
            parts = [(values.astype(np.float64) + 0.0).view(np.int64) if values.dtype.kind == "f" else values]
        lanes += [np.where(there, part, 0).astype(np.int64) for part in parts]
    table = np.stack(lanes)
    return table[:, np.lexsort(table[::-1])]
