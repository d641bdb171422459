"""A catalog in a PostgreSQL database of the test's own, and stores over it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from gpudb.config.storage import StorageSettings
from gpudb.storage.store import Store
from tests.support.connection_urls import to_url
from tests.support.oracle.server import Oracle

_NUMBERS = itertools.count(1)


@pytest.fixture
def catalog(oracle: Oracle) -> Iterator[str]:
    """The URL of an empty database of PostgreSQL."""
    with oracle.database(f"catalog_{next(_NUMBERS)}") as dsn:
        parts = (part for part in dsn.split() if part.partition("=")[0] in {"host", "user", "dbname"})
        yield to_url(" ".join(parts))


@pytest.fixture
def open_store(catalog: str, tmp_path: Path) -> Iterator[Callable[..., Store]]:
    """Opens a store of the catalog and one data directory; all are closed at the end."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(_open(tmp_path / "data", catalog, options))


def _open(directory: Path, catalog: str, options: dict[str, Any]) -> Store:
    settings = StorageSettings(catalog=catalog, snapshot_retention=0)
    return Store(directory, settings, **{"compaction": False, "keep_seconds": 0.0, **options})
