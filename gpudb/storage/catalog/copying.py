"""Writes catalogs from memory to a new SQLite file."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from gpudb.catalog.model import FIRST_DATABASE
from gpudb.catalog.relations import Sequence
from gpudb.storage.catalog.changes import CatalogChanges, Catalogs, Pointer, is_temporary_object, is_temporary_schema
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
        first = catalogs[FIRST_DATABASE]
        write = CatalogChanges(first.version, first.next_oid, max(commit, 0))
        for made in database.read()[0].values():  # databases that the new file has and the catalog lacks
            if made.database not in catalogs:
                write.remove(made)
        for catalog in catalogs.values():
            write.add(catalog)
        write.relations = {
            place: each
            for place, each in write.relations.items()
            if each is None or not is_temporary_schema(each.schema)
        }
        write.objects = {
            (database_, kind, name): each
            for (database_, kind, name), each in write.objects.items()
            if not is_temporary_object(kind, name)
        }
        write.pointers = [(None, pointer) for pointer in pointers.values()]
        database.commit(write)
    sequences = Sequences(path)
    try:
        for sequence, state in states.items():
            sequences.set_value(sequence, state.value, state.called)
    finally:
        sequences.close()
