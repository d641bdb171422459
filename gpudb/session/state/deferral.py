"""Checks of foreign keys, keys and exclusions that a transaction defers to its end, and the changes that they check."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from gpudb.catalog.tables import DataFile, Exclusion, ForeignKey


@dataclass(frozen=True, slots=True)
class ReferencingChange:
    """Rows were added to the referencing table, or refer to another key, since the table had `files`."""

    owner: int
    foreign: ForeignKey
    files: tuple[DataFile, ...]


@dataclass(frozen=True, slots=True)
class ReferencedChange:
    """Keys of rows of the referenced table that were deleted (`deleted`) or updated.

    If ON UPDATE has an action, the columns of the new keys follow those of the old keys. With NO ACTION a key may exist
    unchanged in another row; with the other actions it has changed.
    """

    referenced: int
    owner: int
    foreign: ForeignKey
    keys: pa.Table
    deleted: bool

    @property
    def action(self) -> str:
        """The foreign key's action for this change, as pg_constraint's letter."""
        return self.foreign.on_delete if self.deleted else self.foreign.on_update


@dataclass(frozen=True, slots=True)
class ExclusionChange:
    """Rows were added to a table `owner` that has an exclusion."""

    owner: int
    exclusion: Exclusion


Change = ReferencingChange | ReferencedChange | ExclusionChange


class Rule(Protocol):
    """A constraint as far as it is deferred."""

    @property
    def oid(self) -> int:
        """The OID of the constraint."""

    @property
    def deferrable(self) -> bool:
        """Whether it can be checked at the end of the transaction."""

    @property
    def deferred(self) -> bool:
        """Whether it is by default."""


def get_rule(change: Change) -> Rule:
    """Returns the constraint that a change is checked against."""
    return change.exclusion if isinstance(change, ExclusionChange) else change.foreign


@dataclass(slots=True)
class DeferredChecks:
    """SET CONSTRAINTS of one transaction, for ALL (`default`) or by a constraint's OID, and the pending checks."""

    default: bool | None = None
    by_oid: dict[int, bool] = field(default_factory=dict)
    pending: list[Change] = field(default_factory=list)

    def is_deferred(self, rule: Rule) -> bool:
        """Whether a constraint is checked at the end of the transaction."""
        if not rule.deferrable:
            return False
        deferred = self.by_oid.get(rule.oid, self.default)
        return rule.deferred if deferred is None else deferred

    def add(self, change: Change) -> None:
        """Adds a pending check; the first change that adds rows to a table covers the later ones."""
        if not isinstance(change, ReferencedChange) and any(
            type(each) is type(change) and get_rule(each).oid == get_rule(change).oid for each in self.pending
        ):
            return
        self.pending.append(change)

    def copy(self) -> DeferredChecks:
        """Returns a copy for a savepoint."""
        return DeferredChecks(self.default, dict(self.by_oid), list(self.pending))

    def take_due(self) -> list[Change]:
        """Removes and returns the checks that are no longer deferred."""
        due = [each for each in self.pending if not self.is_deferred(get_rule(each))]
        self.pending = [each for each in self.pending if self.is_deferred(get_rule(each))]
        return due
