"""What an index of vectors is: its method, its distance, its dimensions and parameters; and how far a search looks."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from gpudb.values.vector_keys import HALF_PRECISION, SINGLE

Metric = Literal["l2", "ip", "cosine", "l1", "hamming", "jaccard"]
BIT_METRICS = frozenset({"hamming", "jaccard"})
GRAPHS = frozenset({"hnsw", "cagra"})
"""Methods whose index is a graph; the others have inverted lists."""
Bounds = tuple[int, int, int]
"""The default of a storage parameter, its least and its greatest value."""
_LISTS = {"lists": (100, 1, 32_768)}
PARAMETERS: Mapping[str, Mapping[str, Bounds]] = {
    "hnsw": {"m": (16, 2, 100), "ef_construction": (64, 4, 1000)},
    "ivfflat": _LISTS,
    "cagra": {"graph_degree": (64, 1, 1024), "intermediate_graph_degree": (128, 1, 1024)},
    "ivf_flat": _LISTS,
    "ivf_pq": {**_LISTS, "pq_dim": (0, 0, 16_000), "pq_bits": (8, 4, 8)},
}
"""The storage parameters of each method: pgvector's, and cuVS's."""


@dataclass(frozen=True)
class IndexDefinition:
    """An index of vectors of `dimensions` numbers, or bits; `options` are the storage parameters that were given.

    Numbers of `half` vectors are of half precision.
    """

    method: str
    metric: Metric
    dimensions: int
    options: tuple[tuple[str, int], ...] = ()
    half: bool = field(default=False, repr=False)

    def get(self, name: str) -> int:
        """Returns a storage parameter."""
        return dict(self.options).get(name, PARAMETERS[self.method][name][0])

    @property
    def is_graph(self) -> bool:
        """Whether it is a graph; else it has inverted lists."""
        return self.method in GRAPHS

    @property
    def of_bits(self) -> bool:
        """Whether it indexes bit strings."""
        return self.metric in BIT_METRICS

    @property
    def precision(self) -> np.dtype[Any]:
        """NumPy's type of the numbers of vectors."""
        return HALF_PRECISION if self.half else SINGLE

    @cached_property
    def digest(self) -> str:
        """Names the definition among all."""
        named = repr(self) + " half" * self.half
        return hashlib.blake2b(named.encode(), digest_size=8).hexdigest()


@dataclass(frozen=True, slots=True)
class SearchEffort:
    """How far searches look, by method: rows that a graph's search keeps, or lists that are read.

    Without `enabled` no index is searched.
    """

    enabled: bool = True
    hnsw: int = 40
    cagra: int = 64
    ivfflat: int = 1
    ivf_flat: int = 20
    ivf_pq: int = 20

    def breadth(self, method: str) -> int:
        """Returns the number for a method."""
        found: int = getattr(self, method)
        return found
