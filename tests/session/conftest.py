"""A database in a temporary directory that goes with it, shared by a module's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpudb.session.database import Database


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    """An empty database."""
    opened = Database()
    try:
        yield opened
    finally:
        opened.close()
