"""Distribution of a subplan's rows: all on one worker, on any worker, or by the hash of some columns.

No exchange is needed where rows that must meet are on one worker already: groups after a join on the same keys, two
joins on one key, an aggregate on the key that a table is distributed by.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from gpudb.catalog.distribution import BUCKETS, get_hash_class
from gpudb.plan.tree import nodes
from gpudb.plan.tree.nodes import INPUT, column
from gpudb.plan.tree.traversal import remap_columns, transform
from gpudb.sql import bound
from gpudb.sql.widening import bare
from gpudb.types import SqlType

Keys = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Distribution:
    """`one`: all rows on the first worker. `hash`: rows of equal `keys` on one worker. `any`: rows on any worker.

    Several `keys` may hold at once, as those of both sides of a join do. Exchanged rows are distributed by the
    exchanges' hash, rows of a table that is distributed by hash by the buckets of a class of types. `hash_name` names
    that hash; only rows with the same one are co-located.
    """

    kind: Literal["one", "any", "hash"]
    keys: tuple[Keys, ...] = ()
    hash_name: str = ""

    @property
    def single_worker(self) -> bool:
        """Whether all rows are on the first worker."""
        return self.kind == "one"

    def colocates(self, keys: Sequence[Any]) -> bool:
        """Returns whether rows of equal `keys` are on one worker."""
        if self.single_worker:
            return True
        # Constants may hold lists, which are not hashable.
        given = [_drop_names(each) for key in keys for each in (key, bare(key))]
        return any(all(part in given or _drop_names(bare(part)) in given for part in each) for each in self.keys)

    def match_keys(self, keys: Sequence[Any]) -> tuple[int, ...] | None:
        """Returns which of `keys`, in which order, the rows are hashed by; None if they are not."""
        given = [self.normalize(key) for key in keys]
        for each in self.keys:
            if all(part in given for part in each):
                return tuple(given.index(part) for part in each)
        return None

    def normalize(self, key: Any) -> Any:
        """Normalises a key as in `keys`: equal values of all types of a class have one bucket."""
        if self.hash_name:
            key = bare(key)
            while isinstance(key, bound.Cast) and _keeps_hash(key.arg.type, key.type):
                key = key.arg
        return _drop_names(key)

    def is_hashed_by(self, keys: Sequence[Any], hash_name: str) -> bool:
        """Returns whether rows are distributed by the hash of exactly these keys."""
        return self.hash_name == hash_name and tuple(map(self.normalize, keys)) in self.keys


def _keeps_hash(old: SqlType, new: SqlType) -> bool:
    """Returns whether a cast is between numerics of one hash class and loses no digit."""
    if (
        old.name != "numeric"
        or new.name != "numeric"
        or get_hash_class(old) is None
        or get_hash_class(old) != get_hash_class(new)
    ):
        return False
    return old.numeric_digits[0] <= new.numeric_digits[0]


def scan_distribution(scan: nodes.Scan, *, whole: bool = True) -> Distribution:
    """Returns the distribution of a table's scan by its files, if workers' shares are `whole` buckets."""
    column_of = scan.table.hashed_by
    if column_of is None or not scan.table.bucketed or not whole:
        return ANY
    for place, index in enumerate(scan.columns):
        if scan.table.columns[index] is column_of:
            return Distribution("hash", ((column(place, column_of.type),),), bucket_hash_name(column_of.type))
    return ANY


def bucket_hash_name(kind: SqlType) -> str:
    """Returns the hash name of a table that is bucketed by a column of this type; "" for a type without buckets."""
    found = get_hash_class(kind)
    return "" if found is None else f"{BUCKETS} buckets of {found}"


ONE = Distribution("one")
ANY = Distribution("any")


def hash_distribution(*keys: Sequence[Any], hash_name: str = "") -> Distribution:
    """Returns the distribution by the hash of these keys, each of which holds."""
    given = Distribution("hash", (), hash_name)
    return replace(given, keys=tuple(tuple(map(given.normalize, each)) for each in keys)) if keys else ANY


def _drop_names(expr: Any) -> Any:
    """Removes display names from an expression's columns."""

    def change(each: Any) -> Any:
        return column(each.index, each.type) if isinstance(each, bound.Column) and each.name else None

    return transform(expr, change)


def shift_keys(given: Distribution, by: int) -> Distribution:
    """Shifts the keys to the right by `by` columns."""
    if given.kind != "hash":
        return given
    return replace(given, keys=tuple(remap_columns(each, lambda index: index + by) for each in given.keys))


def project_keys(given: Distribution, exprs: Sequence[Any]) -> Distribution:
    """Returns the distribution after a projection to these expressions."""
    if given.kind != "hash":
        return given
    places = [None if isinstance(expr, bound.Constant) else given.normalize(expr) for expr in exprs]
    kinds = [expr.type for expr in exprs]
    kept: list[Keys] = []
    for turn in _occurrences(places):
        for each in given.keys:
            made = _project_key(each, turn, kinds)
            # One of them may be a constant list, which is not hashable.
            if made is not None and made not in kept:
                kept.append(made)
    return replace(given, keys=tuple(kept)) if kept else ANY


def _occurrences(places: list[Any]) -> Iterator[list[Any]]:
    """Yields the expressions by position; a repeated expression counts at its first position first, then at the
    next.
    """
    while any(each is not None for each in places):
        yield places
        places = [each if each is not None and each in places[:n] else None for n, each in enumerate(places)]


def _project_key(keys: Keys, places: Sequence[Any], kinds: Sequence[SqlType]) -> Keys | None:
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


def join_distribution(node: nodes.Join, left: Distribution, right: Distribution) -> Distribution:
    """Returns the distribution of a join whose sides are co-located by its keys."""
    other = shift_keys(right, len(node.left.types))
    if node.kind == "INNER":
        return replace(left, keys=left.keys + other.keys) if left.keys or other.keys else ANY
    # NULL-extended rows of an outer join stay with their own side.
    return ANY if node.kind == "FULL" else left


def group_distribution(node: nodes.Aggregate, given: Distribution) -> Distribution:
    """Returns the distribution of groups whose rows were on one worker each."""
    return given if given.single_worker else project_keys(given, node.keys)


def union_distribution(left: Distribution, right: Distribution) -> Distribution:
    """Returns the distribution of the rows of two inputs together."""
    kept = tuple(each for each in left.keys if each in right.keys and left.hash_name == right.hash_name)
    return replace(left, keys=kept) if kept else ANY
