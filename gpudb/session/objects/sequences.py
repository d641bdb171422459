"""Sequences that tables own: lookup and restart."""

from __future__ import annotations

from dataclasses import replace

from gpudb.catalog.relations import Sequence
from gpudb.session.context import Context


def owned_sequences(context: Context, table: int, column: str | None = None) -> list[Sequence]:
    """The sequences that a table or one of its columns owns."""
    found = []
    for sequence in context.transaction.catalog.sequences():
        owner = sequence.owned_by
        if owner is not None and owner[0] == table and column in (None, owner[1]):
            found.append(sequence)
    return found


def restart_sequence(context: Context, sequence: Sequence) -> None:
    """TRUNCATE … RESTART IDENTITY: restarts a sequence in a new file, so that a rollback restores the old one."""
    file, catalog = context.transaction.catalog.allocate_oid()
    restarted = replace(sequence, file=file, first=sequence.start, called=False)
    context.transaction.set_catalog(catalog.put(restarted))
