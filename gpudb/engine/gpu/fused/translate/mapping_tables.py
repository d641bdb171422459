"""The tables that a pipeline's expressions read: entries by dictionary code, LIKE patterns, ensembles of trees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpudb.analytics.trees.ensemble import TreeEnsemble
from gpudb.engine.gpu.fused.translate.typed_values import Dictionary, TypedValue
from gpudb.plcuda.source import CudaFunction


class MappingTables:
    """Collects the tables of a pipeline's `TableEntry` expressions: int64 entries and validity (None: all valid).

    And numbers the PL/CUDA functions that the pipeline calls.
    """

    def __init__(self) -> None:
        self.entries: list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any] | None]] = []
        self._memo: dict[Any, TypedValue] = {}
        self._dictionaries: list[Any] = []
        self._functions: dict[CudaFunction, int] = {}
        self._ensembles: dict[TreeEnsemble, int] = {}

    def add(self, entries: np.ndarray[Any, Any], valid: np.ndarray[Any, Any] | None) -> int:
        """Adds a table with the fewest bytes per entry, and returns its number."""
        low, high = int(entries.min()), int(entries.max())
        kinds = ((np.uint8, 2**8), (np.uint16, 2**16), (np.uint32, 2**32))
        kind = next((kind for kind, limit in kinds if low >= 0 and high < limit), np.int64)
        self.entries.append((entries.astype(kind), valid))
        return len(self.entries) - 1

    def add_ensemble(self, ensemble: TreeEnsemble) -> int:
        """Adds the arrays of an ensemble of trees as four tables, unless they are there; returns the first's number."""
        if ensemble not in self._ensembles:
            self._ensembles[ensemble] = len(self.entries)
            self.entries += [(each, None) for each in ensemble.tables]
        return self._ensembles[ensemble]

    def add_pattern(self, made: bytes) -> int:
        """Adds a table that holds a pattern's bytes, and returns its number."""
        self.entries.append((np.frombuffer(made + b"\0", np.uint8), None))
        return len(self.entries) - 1

    def number_function(self, function: CudaFunction) -> int:
        """Returns the number of a function among those of the pipeline."""
        return self._functions.setdefault(function, len(self._functions))

    def memoize(self, key: tuple[Any, Dictionary], make: Callable[[], TypedValue]) -> TypedValue:
        """Returns the memoized translation of an expression over a dictionary."""
        expr, dictionary = key
        memo_key = (expr, id(dictionary))
        if memo_key not in self._memo:
            self._dictionaries.append(dictionary)
            self._memo[memo_key] = make()
        return self._memo[memo_key]
