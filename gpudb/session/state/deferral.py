"""Foreign keys that are looked at when the transaction ends: which they are now, and what waits for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from gpudb.catalog.model import DataFile, ForeignKey

if TYPE_CHECKING:
    from gpudb.session.dml.references import Leaving
    from gpudb.session.session import Session


@dataclass(frozen=True, slots=True)
class Added:
    """Rows were added to a table, or refer to something else, since it had `files`."""

    owner: int
    foreign: ForeignKey
    files: tuple[DataFile, ...]


@dataclass(slots=True)
class Deferral:
    """One transaction's: what SET CONSTRAINTS said, of `every` one or of `some` by OID, and what is to be looked at."""

    every: bool | None = None
    some: dict[int, bool] = field(default_factory=dict)
    events: list[Added | Leaving] = field(default_factory=list)

    def covers(self, foreign: ForeignKey) -> bool:
        """Whether a foreign key waits for the end."""
        if not foreign.deferrable:
            return False
        said = self.some.get(foreign.oid, self.every)
        return foreign.deferred if said is None else said

    def remember(self, event: Added | Leaving) -> None:
        """Keeps what is to be looked at; the first of what was added to a table stands for all."""
        if isinstance(event, Added) and any(
            isinstance(each, Added) and each.foreign.oid == event.foreign.oid for each in self.events
        ):
            return
        self.events.append(event)

    def copy(self) -> Deferral:
        """As it is now, for a savepoint."""
        return Deferral(self.every, dict(self.some), list(self.events))

    def due(self) -> list[Added | Leaving]:
        """Takes out what need not wait any longer."""
        found = [each for each in self.events if not self.covers(each.foreign)]
        self.events = [each for each in self.events if self.covers(each.foreign)]
        return found


_DEFERRALS: WeakKeyDictionary[Session, Deferral] = WeakKeyDictionary()


def deferral(session: Session) -> Deferral:
    """What the session's transaction has put off."""
    return _DEFERRALS.setdefault(session, Deferral())


def back_to(session: Session, kept: Deferral) -> None:
    """What had been put off at a savepoint is so again."""
    _DEFERRALS[session] = kept.copy()


def forget(session: Session) -> Deferral | None:
    """What a transaction that ends had put off."""
    return _DEFERRALS.pop(session, None)
