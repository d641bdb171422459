"""Lengths, hashes and crosses of texts and other values."""

from __future__ import annotations

from collections.abc import Iterable

from gpudb.errors import SqlError
from gpudb.ml.flow import Step
from gpudb.ml.hashing import RANGE, hash_column, to_bucket
from gpudb.ml.literals import refer
from gpudb.ml.selectors import text
from gpudb.ml.transformer import Chosen, Transformer

_ODD = 0x9E3779B1 >> 1


class TextLength(Transformer):
    """Adds the number of characters of texts: `COLUMN_length` (integer); NULL for NULL."""

    suitable = text()

    def _build(self, step: Step) -> None:
        for name in self.columns_:
            step.added[f"{name}_length"] = f"length({refer(name)}::text)"


class HashBucket(Transformer):
    """Replaces values by a hash from 0 to `num_buckets` - 1, as NVTabular's; bigint, NULL for NULL.

    The hash is that of splits: the same everywhere. 0A000 for floats.
    """

    suitable = text()

    def __init__(self, columns: Chosen = None, *, num_buckets: int, seed: int = 0) -> None:
        super().__init__(columns)
        _check_buckets(num_buckets)
        self.num_buckets, self.seed = num_buckets, seed

    def _build(self, step: Step) -> None:
        for name in self.columns_:
            step.replaced[name] = {name: to_bucket(hash_column(name, step.types[name], self.seed), self.num_buckets)}


class Cross(Transformer):
    """Adds the combination of columns as one text: `A_X_B`, values joined by `_X_`; NULL if one is NULL."""

    def _build(self, step: Step) -> None:
        step.added["_X_".join(self.columns_)] = " || '_X_' || ".join(f"{refer(name)}::text" for name in self.columns_)


class HashedCross(Transformer):
    """Adds a hash of the combination of columns, as NVTabular's: `A_X_B`, from 0 to `num_buckets` - 1 (bigint).

    NULL if one is NULL.
    """

    def __init__(self, columns: Chosen = None, *, num_buckets: int, seed: int = 0) -> None:
        super().__init__(columns)
        _check_buckets(num_buckets)
        self.num_buckets, self.seed = num_buckets, seed

    def _build(self, step: Step) -> None:
        hashed = hash_column(self.columns_[0], step.types[self.columns_[0]], self.seed)
        for at, name in enumerate(self.columns_[1:], 1):
            hashed = f"(({hashed} * {_ODD} + {hash_column(name, step.types[name], self.seed + at)}) & {RANGE - 1})"
        step.added["_X_".join(self.columns_)] = to_bucket(hashed, self.num_buckets)


class SelectCols(Transformer):
    """Keeps only the named columns, as skrub's."""

    def _build(self, step: Step) -> None:
        for name in step.types:
            if name not in self.columns_:
                step.replaced[name] = {}


class DropCols(Transformer):
    """Drops the named columns, as skrub's; rows that it transforms may lack them."""

    def list_inputs(self) -> Iterable[str]:
        """See `Transformer`."""
        return [] if self.is_fitted_ else self.columns_

    def _build(self, step: Step) -> None:
        for name in self.columns_:
            step.replaced[name] = {}


def _check_buckets(num_buckets: int) -> None:
    if not 1 <= num_buckets <= RANGE:
        raise SqlError.of("invalid_parameter_value", "num_buckets must be between 1 and 2³²")
