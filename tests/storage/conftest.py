"""Stores for tests: a durable one in an empty directory, and a temporary one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gpudb.storage.store import Store


@pytest.fixture(params=["durable", "temporary"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A store of either kind, without compaction, that keeps discarded files no longer than necessary."""
    directory = tmp_path / "data" if request.param == "durable" else None
    with Store(directory, compaction=False, keep_seconds=0) as opened:
        yield opened


@pytest.fixture
def durable(tmp_path: Path) -> Iterator[Store]:
    """A durable store, without compaction, that keeps discarded files no longer than necessary."""
    with Store(tmp_path / "data", compaction=False, keep_seconds=0) as opened:
        yield opened
