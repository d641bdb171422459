"""Keys of rows that a transaction and others have added to one table since it began: 23505 for one that both have."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from gpudb.catalog.model import Catalog
from gpudb.catalog.tables import Table
from gpudb.storage.catalog.merge import Change
from gpudb.storage.constraints.exclusions import IsDeferred, never
from gpudb.storage.constraints.keys import KeyChecker


def check_joined_keys(
    keys: KeyChecker,
    catalog: Catalog,
    changes: Iterable[Change],
    known: Collection[str],
    is_deferred: IsDeferred = never,
) -> None:
    """Raises 23505 or 23P01 if a merge joins rows of the same key, or rows that exclude each other.

    `catalog` is the merged one. `known` are the paths of files whose keys were in their table before the transaction.
    """
    for change in changes:
        if isinstance(change.new, Table) and change.concurrent:
            fresh = [file for file in change.added if file.path not in known]
            keys.check(catalog, change.new, fresh, change.concurrent, distinct=True, is_deferred=is_deferred)
