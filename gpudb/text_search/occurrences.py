"""Where the words and phrases of a query are in what it is matched with: a vector, or the tokens of a document."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gpudb.text_search.queries import Both, Not, Query, Word

Places = Sequence[int]


class Occurrences:
    """Where words are in what a query is matched with. `find` returns positions; None if a word is not there.

    Without positions phrases do not match.
    """

    def __init__(self, find: Callable[[Word], Places | None]) -> None:
        self.find = find

    def match(self, query: Query) -> bool:
        """Returns whether a query matches."""
        match query:
            case Word():
                return self.find(query) is not None
            case Not():
                return not self.match(query.arg)
            case Both(op="&"):
                return self.match(query.left) and self.match(query.right)
            case Both(op="|"):
                return self.match(query.left) or self.match(query.right)
            case _:
                found = self.locate(query)
                return found is not None and (found.negated or bool(found.ends))

    def locate(self, query: Query) -> Located | None:
        """Returns where a part of a phrase matches; None where that cannot be known."""
        match query:
            case Word():
                found = self.find(query)
                if found is None:
                    return Located((), False, 0)
                return Located(tuple(found), False, 0) if found else None
            case Not():
                inner = self.locate(query.arg)
                if inner is None:
                    return None
                if inner.negated:
                    return Located(inner.ends, False, inner.width)
                return Located(inner.ends, True, inner.width if inner.ends else 0)
        left, right = self.locate(query.left), self.locate(query.right)
        if left is None or right is None:
            return None
        if query.op == "<":
            return self._locate_phrase(query, left, right)
        width = max(left.width, right.width)
        left, right = left.widen(width), right.widen(width)
        # A negated side stands for the positions that it does not list
        if query.op == "&":
            return left.intersect(right, width)
        return left.negate().intersect(right.negate(), width).negate()

    def _locate_phrase(self, query: Both, left: Located, right: Located) -> Located:
        width = left.width + right.width + query.distance
        shifted = Located(tuple(each + query.distance + right.width for each in left.ends), left.negated, width)
        return shifted.intersect(Located(right.ends, right.negated, width), width)


@dataclass(frozen=True, slots=True)
class Located:
    """The positions at which matches end, `width` after they begin; if `negated`, all but those."""

    ends: tuple[int, ...]
    negated: bool
    width: int

    def negate(self) -> Located:
        """Returns where this does not match."""
        return Located(self.ends, not self.negated, self.width)

    def widen(self, width: int) -> Located:
        """Returns the same matches, shifted so that they end `width` after their beginning."""
        return self if width == self.width else Located(self.ends, self.negated, width)

    def intersect(self, other: Located, width: int) -> Located:
        """Returns where both match."""
        mine, theirs = set(self.ends), set(other.ends)
        if self.negated and other.negated:
            return Located(tuple(sorted(mine | theirs)), True, width)
        if self.negated:
            return Located(tuple(sorted(theirs - mine)), False, width)
        kept = mine - theirs if other.negated else mine & theirs
        return Located(tuple(sorted(kept)), False, width)
