"""Where a subplan's rows lie: on one worker, anywhere, or by the hash of some of their columns.

Stages leave out an exchange where rows that must meet lie together already: groups after a join on the same keys, two
joins on one key, an aggregate on the key that a table is distributed by.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from gpudb.catalog.distribution import BUCKETS, hash_class
from gpudb.plan.tree import nodes
from gpudb.plan.tree.nodes import INPUT, column
from gpudb.plan.tree.predicates import bare
from gpudb.plan.tree.traversal import moved, transform
from gpudb.sql import bound
from gpudb.types import SqlType

Keys = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Distribution:
    """`one`: all rows on the first worker. `hash`: rows of equal `keys` on one worker, by the hash of them; several
    such keys hold at once, as both sides' of a join do. `any`: rows lie anywhere.

    Rows that were moved lie by the exchanges' hash, those of a table that is distributed by hash by the buckets of a
    class of types: `by` says which, and only what lies by the same one lies alike.
    """

    kind: Literal["one", "any", "hash"]
    keys: tuple[Keys, ...] = ()
    by: str = ""

    @property
    def alone(self) -> bool:
        """Whether all rows are the first worker's."""
        return self.kind == "one"

    def meets(self, keys: Sequence[Any]) -> bool:
        """Whether rows of equal `keys` lie on one worker."""
        if self.alone:
            return True
        # Constants may hold lists, which do not hash.
        given = [_plain(each) for key in keys for each in (key, bare(key))]
        return any(all(part in given or _plain(bare(part)) in given for part in each) for each in self.keys)

    def matching(self, keys: Sequence[Any]) -> tuple[int, ...] | None:
        """Which of `keys`, in which order, the rows are hashed by; None for none of them."""
        given = [self.read(key) for key in keys]
        for each in self.keys:
            if all(part in given for part in each):
                return tuple(given.index(part) for part in each)
        return None

    def read(self, key: Any) -> Any:
        """A key as `keys` have it: equal values of all types of a class are of one bucket."""
        if self.by:
            key = bare(key)
            while isinstance(key, bound.Cast) and _rescaled(key.arg.type, key.type):
                key = key.arg
        return _plain(key)

    def lies(self, keys: Sequence[Any], by: str) -> bool:
        """Whether rows lie by the hash of just these keys."""
        return self.by == by and tuple(map(self.read, keys)) in self.keys


def _rescaled(old: SqlType, new: SqlType) -> bool:
    """Whether a cast is of numerics that stay of one class and lose no digit."""
    if old.name != "numeric" or new.name != "numeric" or hash_class(old) is None or hash_class(old) != hash_class(new):
        return False
    return old.numeric_digits[0] <= new.numeric_digits[0]


def scanned(scan: nodes.Scan, *, whole: bool = True) -> Distribution:
    """Of a table's rows, as its files have them, where shares are of `whole` buckets."""
    column_of = scan.table.hashed_by
    if column_of is None or not scan.table.bucketed or not whole:
        return ANY
    for place, index in enumerate(scan.columns):
        if scan.table.columns[index] is column_of:
            return Distribution("hash", ((column(place, column_of.type),),), buckets_of(column_of.type))
    return ANY


def buckets_of(kind: SqlType) -> str:
    """By what a table lies whose rows go by the buckets of a column of a type: "" for a type without buckets."""
    found = hash_class(kind)
    return "" if found is None else f"{BUCKETS} buckets of {found}"


ONE = Distribution("one")
ANY = Distribution("any")


def hashed(*keys: Sequence[Any], by: str = "") -> Distribution:
    """Rows that lie by the hash of these keys, each of which holds."""
    given = Distribution("hash", (), by)
    return replace(given, keys=tuple(tuple(map(given.read, each)) for each in keys)) if keys else ANY


def _plain(expr: Any) -> Any:
    """An expression without the names that its columns are shown under."""

    def change(each: Any) -> Any:
        return column(each.index, each.type) if isinstance(each, bound.Column) and each.name else None

    return transform(expr, change)


def shifted(given: Distribution, by: int) -> Distribution:
    """Of rows whose columns have all moved to the right."""
    if given.kind != "hash":
        return given
    return replace(given, keys=tuple(moved(each, lambda index: index + by) for each in given.keys))


def over(given: Distribution, exprs: Sequence[Any]) -> Distribution:
    """Of rows that are made of these expressions alone."""
    if given.kind != "hash":
        return given
    places = [None if isinstance(expr, bound.Constant) else given.read(expr) for expr in exprs]
    kinds = [expr.type for expr in exprs]
    kept: list[Keys] = []
    for turn in _turns(places):
        for each in given.keys:
            made = _placed(each, turn, kinds)
            # A constant among them may be a list, which has no hash.
            if made is not None and made not in kept:
                kept.append(made)
    return replace(given, keys=tuple(kept)) if kept else ANY


def _turns(places: list[Any]) -> Iterator[list[Any]]:
    """Expressions by their places; what stands at several stands at the first of them at first, then at the next."""
    while any(each is not None for each in places):
        yield places
        places = [each if each is not None and each in places[:n] else None for n, each in enumerate(places)]


def _placed(keys: Keys, places: Sequence[Any], kinds: Sequence[SqlType]) -> Keys | None:
    lost = False

    def change(each: Any) -> Any:
        nonlocal lost
        if isinstance(each, bound.Constant):
            return None
        if each in places:
            place = places.index(each)
            return column(place, kinds[place])
        if isinstance(each, bound.Column):
            lost = lost or each.rel == INPUT
        return None

    made = transform(keys, change)
    return None if lost else made


def joined(node: nodes.Join, left: Distribution, right: Distribution) -> Distribution:
    """Of a join whose sides lie alike, by keys."""
    other = shifted(right, len(node.left.types))
    if node.kind == "INNER":
        return replace(left, keys=left.keys + other.keys) if left.keys or other.keys else ANY
    # The rows that an outer join fills up with NULLs lie where their own side does.
    return ANY if node.kind == "FULL" else left


def grouped(node: nodes.Aggregate, given: Distribution) -> Distribution:
    """Of groups whose rows lay together."""
    return given if given.alone else over(given, node.keys)


def both(left: Distribution, right: Distribution) -> Distribution:
    """Of the rows of either of two inputs."""
    kept = tuple(each for each in left.keys if each in right.keys and left.by == right.by)
    return replace(left, keys=kept) if kept else ANY
