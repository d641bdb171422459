"""Databases for each engine: served ones, and connections of the Python API."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

import gpudb
from gpudb.api import Connection
from tests.support.connection_urls import to_url
from tests.support.server_program import running_server

OPTIONS = {"cpu": ("--engine", "cpu"), "twin": ("--engine", "twin", "--workers", "2")}
ENGINES = ["cpu", pytest.param("twin", marks=pytest.mark.timeout(300))]
START = """DROP SCHEMA IF EXISTS features CASCADE; CREATE SCHEMA features; SET search_path = features;
    SET gpudb.fallback = off"""


@pytest.fixture(scope="session")
def cpu_dsn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The connection string of a server program with the embedded engine."""
    with running_server(tmp_path_factory.mktemp("cpu") / "data", *OPTIONS["cpu"]) as running:
        yield running


@pytest.fixture(scope="session")
def twin_dsn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The connection string of a server program with two workers."""
    with running_server(tmp_path_factory.mktemp("twin") / "data", *OPTIONS["twin"]) as running:
        yield running


@pytest.fixture(params=ENGINES)
def dsn(request: pytest.FixtureRequest) -> str:
    """The connection string of a server program with each engine."""
    found: str = request.getfixturevalue(f"{request.param}_dsn")
    return found


@pytest.fixture
def served(dsn: str) -> Iterator[Connection]:
    """A connection of the Python API to a server, in a schema of its own. Workers refuse what they do not support."""
    with gpudb.connect(to_url(dsn)) as connection:
        connection.execute(START)
        yield connection


@pytest.fixture
def client(dsn: str) -> Iterator[psycopg.Connection]:
    """A client that is not gpudb's."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("SET search_path = features; SET gpudb.fallback = off")
        yield connection


@pytest.fixture(params=ENGINES)
def db(request: pytest.FixtureRequest) -> Iterator[Connection]:
    """A connection to an embedded database, or to a server with workers, which refuse what they do not support."""
    with gpudb.connect(to_url(request.getfixturevalue("twin_dsn")) if request.param == "twin" else None) as connection:
        connection.execute(START)
        yield connection
