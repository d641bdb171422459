"""Partitioned tables: partition keys, bounds, and the tree of a table's partitions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

Strategy = Literal["r", "l", "h"]
"""PARTITION BY RANGE, LIST or HASH, as pg_partitioned_table.partstrat."""
STRATEGY_NAMES: Mapping[str, str] = {"r": "RANGE", "l": "LIST", "h": "HASH"}


@dataclass(frozen=True, slots=True)
class PartitionKey:
    """The strategy and the columns by which a table is partitioned.

    `changes` counts how often its partitions changed: two transactions that each add one conflict.
    """

    strategy: Strategy
    columns: tuple[str, ...]
    changes: int = 0


@dataclass(frozen=True, slots=True)
class Datum:
    """A value of a bound in the output form of its type, None for NULL; `infinite` is -1 for MINVALUE, 1 for MAXVALUE.

    Times with a zone are in UTC.
    """

    text: str | None = None
    infinite: int = 0


@dataclass(frozen=True, slots=True)
class PartitionBound:
    """What rows a partition of the table `parent` (an OID) takes.

    RANGE: `lower` inclusive, `upper` exclusive, one datum a column of the key. LIST: `values`. HASH: those whose hash
    has the remainder `remainder` by `modulus`. The `default` partition takes all rows that no other one takes, and
    `changes` counts how often those became fewer: two transactions conflict of which one writes rows that it had, or
    that a partition below it had.
    """

    parent: int
    default: bool = False
    lower: tuple[Datum, ...] = ()
    upper: tuple[Datum, ...] = ()
    values: tuple[Datum, ...] = ()
    modulus: int = 0
    remainder: int = 0
    changes: int = 0


@dataclass(frozen=True, slots=True)
class PartitionTree:
    """A table and its partitions: `fields` are the field ids of its partition key's columns, `bound` its own bound.

    A leaf has no `key` and holds rows.
    """

    oid: int
    name: str
    bound: PartitionBound | None = None
    key: PartitionKey | None = None
    fields: tuple[int, ...] = ()
    children: tuple[PartitionTree, ...] = ()

    def leaves(self) -> Iterator[PartitionTree]:
        """Yields the tables that hold rows, depth first."""
        if self.key is None:
            yield self
        for child in self.children:
            yield from child.leaves()
