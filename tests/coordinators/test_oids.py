"""OIDs are of one coordinator alone, also while others start."""

from __future__ import annotations

from pathlib import Path

from gpudb.config.storage import StorageSettings
from gpudb.storage.store import Store
from tests.support.postgres_program import PostgresProgram
from tests.support.store_tables import created


def test_a_coordinator_that_starts_takes_no_oids_of_another(tmp_path: Path, postgres: PostgresProgram) -> None:
    with Store(tmp_path / "data", StorageSettings(catalog=postgres.url, snapshot_retention=0)) as first:
        known = [created(first, f"a{number}") for number in range(3)]
        with Store(tmp_path / "data", StorageSettings(catalog=postgres.url, snapshot_retention=0)) as second:
            for number in range(40):
                known += [created(first, f"b{number}"), created(second, f"c{number}")]
    assert len(set(known)) == len(known)
