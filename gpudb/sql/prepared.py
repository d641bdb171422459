"""What engines prepare for a bound query, held by the query: it lives as long as the query does."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Artifact(Generic[T]):
    """A key of one kind of artifact: a plan, a routing decision, a constant row. Keys compare by identity."""


class Prepared:
    """The artifacts of one query, one of each kind. A copy of a query starts without any, and so does a pickled one."""

    __slots__ = ("_artifacts",)

    def __init__(self) -> None:
        self._artifacts: dict[Artifact[Any], Any] | None = None

    def get(self, kind: Artifact[T]) -> T | None:
        """The artifact of a kind; None if there is none."""
        if self._artifacts is None:
            return None
        found: T | None = self._artifacts.get(kind)
        return found

    def put(self, kind: Artifact[T], value: T) -> T:
        """Holds an artifact in place of the kind's old one, and returns it."""
        if self._artifacts is None:
            self._artifacts = {}
        self._artifacts[kind] = value
        return value

    def discard(self, kind: Artifact[Any]) -> None:
        """Drops the artifact of a kind, if there is one."""
        if self._artifacts is not None:
            self._artifacts.pop(kind, None)

    def __reduce__(self) -> tuple[type[Prepared], tuple[()]]:
        return Prepared, ()
