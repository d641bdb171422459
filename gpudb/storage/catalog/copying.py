"""Writes catalogs from memory to a new SQLite file."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from gpudb.catalog.relations import Sequence
from gpudb.storage.catalog.changes import Catalogs, Pointer, make_copy
from gpudb.storage.catalog.database import CatalogDatabase
from gpudb.storage.catalog.sequences import Sequences, SequenceState


def write_catalog(
    path: Path,
    catalogs: Catalogs,
    pointers: Mapping[int, Pointer],
    commit: int,
    states: Mapping[Sequence, SequenceState],
) -> None:
    """Writes catalogs, without their temporary objects, pointers by OID and states of sequences to a file that is new.

    `commit` is the number of their last commit.
    """
    with closing(CatalogDatabase(path)) as database:
        write = make_copy(database.read()[0], catalogs, pointers, max(commit, 0))
        database.commit(write)
    sequences = Sequences(path)
    try:
        for sequence, state in states.items():
            sequences.set_value(sequence, state.value, state.called)
    finally:
        sequences.close()
