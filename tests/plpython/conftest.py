"""A session whose process of functions the tests of a module share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpudb.session.database import Database
from gpudb.session.session import Session
from tests.support.session_fixtures import database
from tests.support.sessions import run

__all__ = ["database", "python"]


@pytest.fixture(scope="module")
def python(database: Database) -> Iterator[Session]:
    made = database.session("gpudb")
    run(made, "CREATE EXTENSION IF NOT EXISTS plpython3u")
    yield made
    made.close()
