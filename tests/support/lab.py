"""A database whose tables SQL creates, requests over its snapshots, and the engines that run them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from gpudb.catalog.tables import Table
from gpudb.cli.machine import list_visible_gpus, query_gpus
from gpudb.engine.cpu.engine import CpuEngine
from gpudb.engine.gpu.cluster.cluster import Cluster
from gpudb.engine.gpu.cluster.config import cpu_processes, gpu_processes
from gpudb.engine.gpu.engine import ClusterEngine
from gpudb.engine.gpu.planning.request_planner import Planner
from gpudb.engine.protocol import Cancel, Engine, Request, Settings
from gpudb.engine.routing import RoutedEngine
from gpudb.plan.dask.dask_sql_planner import warm_up
from gpudb.plan.physical.exchange_planning import Costs
from gpudb.session.database import Database
from gpudb.session.execution.binding.binding import bind_statement, parse_statements
from gpudb.sql.bind.binder import StatementBinder
from gpudb.sql.bound import DataChange
from gpudb.storage.transaction import Transaction
from tests.support.sessions import run
from tests.support.wire_server import serving

WORKERS = 2

ON_GPUS = [pytest.mark.gpu, pytest.mark.timeout(300), pytest.mark.xdist_group("who holds the GPUs")]
"""Marks of tests with workers on GPUs. A worker owns its GPU, so one process runs these tests in sequence."""

ENGINES = (
    "cpu",
    pytest.param("twin", marks=pytest.mark.timeout(300)),  # starting workers takes long on a busy machine
    pytest.param("fused", marks=pytest.mark.timeout(300)),
    pytest.param("gpu", marks=ON_GPUS),
    pytest.param("fused gpu", marks=ON_GPUS),
)
"""Every engine: embedded; CPU workers; CPU workers with the kernels' NumPy backend; GPU workers; GPU workers with fused
kernels. Workers fall back to the embedded engine."""


class Lab:
    """A database whose tables SQL creates, and requests over its snapshots.

    A request's snapshot stays readable until the lab is closed.
    """

    def __init__(self) -> None:
        self.database = Database(None)
        self.session = self.database.session("gpudb")
        self._open: list[Transaction] = []

    def run(self, sql: str) -> list[tuple[Any, ...]]:
        """Runs SQL in the lab's session."""
        return run(self.session, sql)

    def request(
        self,
        sql: str,
        parameters: tuple[object, ...] = (),
        *,
        cancel: Cancel | None = None,
        transaction: Transaction | None = None,
        settings: Settings | None = None,
    ) -> Request:
        """Binds a query over the committed state, or over a transaction's own state."""
        if transaction is None:
            transaction = self.database.store.begin()
            self._open.append(transaction)
        (statement,) = parse_statements(sql)
        binder = StatementBinder(transaction.catalog, statement.text)
        query = bind_statement(binder, statement)
        assert not isinstance(query, DataChange)
        return Request(query, transaction.catalog, settings or Settings(), parameters, cancel or Cancel())

    def release(self) -> None:
        """Releases the snapshots."""
        for transaction in self._open:
            transaction.rollback()
        self._open.clear()

    def close(self) -> None:
        """Closes session and database."""
        self.release()
        self.session.close()
        self.database.close()


@pytest.fixture(scope="module")
def lab(request: pytest.FixtureRequest) -> Iterator[Lab]:
    """A lab in which the module's SETUP has run, if the module has one."""
    made = Lab()
    setup = getattr(request.module, "SETUP", "")
    if setup:
        made.run(setup)
    yield made
    made.close()


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest, lab: Lab) -> Iterator[Engine]:
    """An engine that is separate from the lab session's."""
    made = engine_of(request.param, CpuEngine(spill=lab.database.store.spill))
    yield made
    made.close()


def engine_of(name: str, embedded: Engine) -> Engine:
    """Returns the engine of a name in ENGINES, which falls back to the embedded one and closes it."""
    return embedded if name == "cpu" else _workers(embedded, gpu="gpu" in name, fuse="fused" in name)


@contextlib.contextmanager
def client_of_engine(name: str, setup: str = "", directory: Path | None = None) -> Iterator[psycopg.Connection]:
    """Yields a client of a server with the engine of a name in ENGINES, after it has run the setup.

    The server is over a directory, or in memory.
    """
    database = Database(directory)
    database.engine = engine_of(name, database.cpu)
    with serving(database) as server:
        host, port = server.address
        with psycopg.connect(f"host={host} port={port} user=gpudb dbname=gpudb", autocommit=True) as connection:
            if setup:
                connection.execute(setup)
            yield connection


def _workers(embedded: Engine, *, gpu: bool, fuse: bool) -> Engine:
    """Returns an engine that runs on workers and falls back to the embedded engine."""
    warm_up()
    cluster = Cluster(gpu_processes(list_visible_gpus(query_gpus())) if gpu else cpu_processes(WORKERS, fuse=fuse))
    costs = Costs(workers=cluster.size, scan=0 if fuse else Costs.scan)
    planner = Planner(embedded, costs, fuse=fuse, gpu=gpu)
    return RoutedEngine(ClusterEngine(cluster, embedded, "gpu" if gpu else "twin", planner), embedded)


def answer(engine: Engine, request: Request) -> list[tuple[Any, ...]]:
    """Returns all rows of a request."""
    stream = engine.run(request)
    try:
        rows: list[tuple[Any, ...]] = []
        for batch in stream:
            rows += zip(*(column.to_pylist() for column in batch.columns), strict=True)
        return rows
    finally:
        stream.close()


def table_of(lab: Lab, name: str) -> Table:
    """Returns a table of schema public."""
    found = lab.database.store.catalog().relation("public", name)
    assert isinstance(found, Table)
    return found
