"""Open large objects of a session's transaction, by the numbers that lo_open returns."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from gpudb.catalog.model import Catalog
from gpudb.errors import SqlError


@dataclass(slots=True, eq=False)
class Descriptor:
    """An open large object and the position in it. One that only reads has the `snapshot` of its opening."""

    oid: int
    writes: bool
    snapshot: Catalog | None = None
    position: int = 0


class Descriptors(dict[int, Descriptor]):
    """The descriptors of a transaction by their numbers, which its end clears."""

    def add(self, descriptor: Descriptor) -> int:
        """Returns the lowest free number, which is the descriptor's from now on."""
        number = next(n for n in range(len(self) + 1) if n not in self)
        self[number] = descriptor
        return number

    def find(self, number: int) -> Descriptor:
        """Returns the descriptor of a number; 42704."""
        found = self.get(number)
        if found is None:
            raise SqlError.of("undefined_object", f"invalid large-object descriptor: {number}")
        return found

    def close_object(self, oid: int) -> None:
        """Closes the descriptors of a large object."""
        self.keep([each for each in self.values() if each.oid != oid])

    def keep(self, known: Collection[Descriptor]) -> None:
        """Closes all descriptors but those that are `known`."""
        for number in [number for number, each in self.items() if each not in known]:
            del self[number]
