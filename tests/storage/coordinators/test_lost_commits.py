"""A connection to the catalog that is lost in a COMMIT: the transaction is committed once, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest

from gpudb.catalog.model import Schema
from gpudb.catalog.relations import Sequence
from gpudb.config.storage import StorageSettings
from gpudb.errors import GpudbError
from gpudb.storage.catalog.changes import CatalogChanges
from gpudb.storage.catalog.postgres import PostgresCatalog
from gpudb.storage.catalog.postgres_sequences import PostgresSequences
from gpudb.storage.store import Store
from tests.storage.coordinators.cutting_proxy import CuttingProxy
from tests.support.store_tables import created, insert, rows


@pytest.fixture
def proxy(catalog: str) -> Iterator[CuttingProxy]:
    """A proxy before the catalog's PostgreSQL."""
    (folder,) = parse_qs(urlsplit(catalog).query)["host"]
    with CuttingProxy(next(Path(folder).glob(".s.PGSQL.*[0-9]"))) as running:
        yield running


@pytest.fixture
def url(catalog: str, proxy: CuttingProxy) -> str:
    """The URL of the catalog through the proxy."""
    name = urlsplit(catalog).path
    return f"postgresql://gpudb@127.0.0.1:{proxy.port}{name}?sslmode=disable&gssencmode=disable"


def _count_commits(catalog: str) -> int:
    with psycopg.connect(catalog) as connection:
        row = connection.execute("SELECT count(*) FROM gpudb.gpudb_commits").fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.parametrize("lost", ["statement", "answer"])
def test_a_transaction_is_committed_once(
    lost: str, catalog: str, url: str, proxy: CuttingProxy, tmp_path: Path
) -> None:
    with Store(tmp_path / "data", StorageSettings(catalog=url, snapshot_retention=0), compaction=False) as store:
        oid = created(store, "t", primary_key=("a",))
        before = _count_commits(catalog)
        proxy.cut = lost
        insert(store, oid, (1, "a"))
        assert proxy.cut == ""
        assert rows(store, oid) == [(1, "a")]
        assert _count_commits(catalog) == before + 1
        insert(store, oid, (2, "b"))
    with Store(tmp_path / "data", StorageSettings(catalog=catalog, snapshot_retention=0), compaction=False) as again:
        assert rows(again, oid) == [(1, "a"), (2, "b")]


def test_an_outcome_that_stays_unknown_is_reported(catalog: str, url: str, proxy: CuttingProxy) -> None:
    shared = PostgresCatalog(url, wait_seconds=0.5)
    try:
        with pytest.raises(GpudbError) as raised, shared.exclusive():
            write = CatalogChanges(1, 1, shared.number + 1)
            write.objects["gpudb", "schemas", "s"] = Schema(70_000, "s", "gpudb")
            proxy.cut, proxy.refuses = "answer", True
            shared.commit(write)
        assert raised.value.sqlstate == "08007"
        with pytest.raises(GpudbError) as raised, shared.exclusive():
            pass
        assert raised.value.sqlstate == "08006"
        proxy.refuses = False
        with shared.exclusive():
            assert shared.number == write.commit
    finally:
        shared.close()


def test_a_catalog_that_refuses_ends_the_wait(catalog: str) -> None:
    """PostgreSQL answers, but takes no changes, as a standby does: OIDs and sequences give up after their limit."""
    with closing(PostgresCatalog(catalog, wait_seconds=0.5)) as shared:
        with psycopg.connect(catalog, autocommit=True) as connection:
            connection.execute(
                "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on',"
                " current_database()); END $$"
            )
        with pytest.raises(GpudbError, match="read-only") as refused:
            shared.new_oid()
        assert refused.value.sqlstate == "08006"
    with closing(PostgresSequences(catalog, wait_seconds=0.5)) as sequences:
        with pytest.raises(GpudbError, match="read-only") as refused:
            sequences.draw(Sequence(70_000, "public", "s", "gpudb", file=70_000))
        assert refused.value.sqlstate == "08006"
