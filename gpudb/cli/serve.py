"""`gpudb serve`: opens the database, listens, and shuts down by a signal as PostgreSQL does.

SIGTERM (smart): idle clients get 57P01, transactions have `shutdown_timeout` to end, then are cancelled.
SIGINT (fast), or a second SIGTERM: transactions are cancelled at once. SIGQUIT (immediate): the process ends as it is,
and the next start recovers. Until the end, new clients get 57P03.

SIGHUP loads the rules of connections, the certificate and the passwords of `role_passwords` again, and reopens the
logs.

Health and metrics over HTTP are served from before the catalog is open until after it is closed.
"""

from __future__ import annotations

import gc
import logging
import os
import resource
import ssl
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from socket import gethostname
from typing import TYPE_CHECKING

from gpudb.cli.signal_wait import SignalWait
from gpudb.cli.signals import Signals
from gpudb.config.program import Settings
from gpudb.engine.gpu.cluster import forkserver
from gpudb.engine.startup_log import LOG, log_step

if TYPE_CHECKING:
    from gpudb.observe.traces import TraceExporter
    from gpudb.server.http.server import HttpServer
    from gpudb.server.wire.configuration import Configuration
    from gpudb.server.wire.hba.file import HbaFile
    from gpudb.server.wire.server import PgServer
    from gpudb.session.database import Database

JOIN_S = 5.0
WARM_AFTER_S = 2.0
"""Delay in seconds after which a listening server loads what the first query of the catalog needs."""
PRIVATE_UMASK = 0o077
"""Mask of the modes of all files that the server and its workers create: they are for their owner alone."""
MAX_FILES = 65_536
_EVERY_ADDRESS = {"0.0.0.0", "::"}


def serve(settings: Settings) -> None:
    """Serves until a signal (see above). Errors: F0000 for settings, 55006 for a data directory or workers in use,
    08001 for the address, or a scheduler's."""
    os.umask(PRIVATE_UMASK)
    _raise_file_limit()
    signals = Signals()
    signals.install()
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s")

    gpus = _get_gpus(settings.engine) if settings.scheduler is None else ()
    starts_workers = settings.scheduler is None and (bool(gpus) or settings.engine == "twin")
    if starts_workers or settings.scheduler is not None:
        LOG.setLevel(logging.INFO)
    if starts_workers:
        forkserver.begin()  # it imports its libraries in parallel with this process
    log_step(f"{len(gpus)} GPUs are found")

    import gpudb.session.database  # noqa: F401

    log_step("the database's libraries are read")
    with _start_http(settings, signals) as http:
        _serve_database(settings, gpus, http, signals)


def _serve_database(settings: Settings, gpus: Sequence[str], http: HttpServer | None, signals: Signals) -> None:
    """Opens the database and serves its clients until it is told to stop."""
    # What is opened later ends before it, and the logs end last: the database writes to them until it is closed.
    with ExitStack() as logs, ExitStack() as opened:
        traces = _open_traces(settings, logs)
        hba = _load_rules(settings)
        database = _open_database(settings, gpus, opened)
        if traces is not None:
            _measure_exchanges(database)
        waiting = logs.enter_context(closing(SignalWait()))
        if http is not None:
            database.console_url = http.console_url
            opened.callback(http.collector.detach)
            opened.callback(http.console.close)
        _start_backups(settings, database, opened)
        configuration = _open_logs(settings, hba, logs)
        _apply_role_passwords(settings, database, signals)
        database.configuration = configuration
        signals.reloads.append(database.reload_configuration)
        server = _listen(settings, database, configuration, signals, opened)
        if settings.track_statements:
            if traces is not None:
                database.recorder.add_consumer(traces)
            database.recorder.start()
        host, port = server.address
        database.store.announce(gethostname() if host in _EVERY_ADDRESS else host, port)
        log_step("the server listens")
        print(f"listening on {host}:{port}", flush=True)
        if http is not None:
            opened.callback(http.readiness.drain)
            http.collector.attach(database, server)
            http.readiness.opened(database)
            print(f"console on {_name_host(http.console_url)}", flush=True)
        _warm(database, http, signals, waiting)
        opened.callback(gc.unfreeze)  # what is left at the exit is told by libraries as leaked
        waiting.wait(signals.stop)


def _measure_exchanges(database: Database) -> None:
    """Lets the workers measure what they fetch from each other, once they have started."""

    def measure() -> None:
        if database.cluster is not None:
            database.cluster.measure_exchanges()

    if database.cluster_start is not None:
        database.cluster_start.on_end(measure)


def _warm(database: Database, http: HttpServer | None, signals: Signals, waiting: SignalWait) -> None:
    """Loads what first statements need, and returns once the workers run. Raises why they could not start.

    What a start leaves in memory is exempt from garbage collection: a full collection of it would interrupt statements
    for a quarter of a second.
    """
    from gpudb.session.dispatch import import_handlers

    warming = time.monotonic() + WARM_AFTER_S
    import_handlers()
    if database.cluster_start is not None:
        started = threading.Event()
        database.cluster_start.on_end(started.set)
        database.cluster_start.on_end(waiting.wake)
        waiting.wait(signals.stop, started)
        if database.cluster_start.error is not None:
            raise database.cluster_start.error
        log_step("statements run on the workers")
    if not waiting.wait(signals.stop, seconds=max(warming - time.monotonic(), 0.0)):
        database.cpu.warm()
        if http is not None:
            http.readiness.warmed()
    gc.collect()
    gc.freeze()


def _open_traces(settings: Settings, logs: ExitStack) -> TraceExporter | None:
    if settings.trace_endpoint is None:
        return None
    from gpudb.observe.traces import TraceExporter

    traces = TraceExporter(settings.trace_endpoint, settings.trace_ratio, settings.trace_limit)
    logs.callback(traces.close)
    return traces


def _load_rules(settings: Settings) -> HbaFile | None:
    if settings.hba_file is None:
        return None
    from gpudb.server.wire.hba.file import HbaFile

    return HbaFile(settings.hba_file.absolute(), verifies_certificates=settings.tls_ca is not None)


def _open_database(settings: Settings, gpus: Sequence[str], opened: ExitStack) -> Database:
    from gpudb import memory
    from gpudb.session.database import Database

    database = Database(settings.data_dir, settings, gpus=gpus, waits=False)
    opened.callback(database.close)
    memory.set_limit(database.cpu.memory_limit, database.cpu.threads)
    return database


def _start_backups(settings: Settings, database: Database, opened: ExitStack) -> None:
    if settings.backup_dir is None:
        return
    from gpudb.storage.backup.schedule import BackupSchedule

    schedule = BackupSchedule(database.store, settings.backup_dir, settings.backup_interval, settings.backup_keep)
    opened.callback(schedule.stop)


def _open_logs(settings: Settings, hba: HbaFile | None, logs: ExitStack) -> Configuration:
    """Opens the logs that the settings name, and returns them with the rules of connections."""
    from gpudb.server.wire.audit_log import AuditLog
    from gpudb.server.wire.configuration import Configuration
    from gpudb.server.wire.statement_log import StatementLog

    log = audit_log = None
    if settings.statement_log is not None:
        log = logs.enter_context(closing(StatementLog(settings.statement_log)))
    if settings.audit_log is not None:
        audit_log = logs.enter_context(closing(AuditLog(settings.audit_log)))
    return Configuration(hba, log, audit_log)


def _apply_role_passwords(settings: Settings, database: Database, signals: Signals) -> None:
    if settings.role_passwords is None:
        return
    from gpudb.cli.role_passwords import apply_role_passwords, reapply_role_passwords

    apply_role_passwords(database, settings.role_passwords)
    signals.reloads.append(partial(reapply_role_passwords, database, settings.role_passwords))


def _listen(
    settings: Settings, database: Database, configuration: Configuration, signals: Signals, opened: ExitStack
) -> PgServer:
    """Starts to take clients; their sessions end with `opened`. 08001 if the address cannot be had."""
    from gpudb.errors import GpudbError
    from gpudb.server.wire.server import PgServer

    tls = _make_tls_context(settings, signals)
    try:
        server = PgServer(
            database,
            settings,
            tls=tls,
            hba=configuration.hba,
            statement_log=configuration.statement_log,
            audit_log=configuration.audit_log,
            recorder=database.recorder if settings.track_statements else None,
        )
    except OSError as error:
        message = f"cannot listen on {settings.host}:{settings.port}: {error.strerror or error}"
        hint = "Is another server running there? Choose another --port; 0 takes a free one."
        raise GpudbError(message, hint=hint, condition="sqlclient_unable_to_establish_sqlconnection") from None
    thread = threading.Thread(target=server.serve_forever, name="listener", daemon=True)
    thread.start()
    opened.callback(thread.join, JOIN_S)
    opened.callback(server.shutdown, settings.shutdown_timeout, signals.fast)
    return server


@contextmanager
def _start_http(settings: Settings, signals: Signals) -> Iterator[HttpServer | None]:
    """Serves health and metrics, from before the catalog is open; None without a port."""
    if settings.http_port is None:
        yield None
        return
    from gpudb.server.http.server import HttpServer

    tls = None
    if settings.http_tls and settings.tls_cert is not None and settings.tls_key is not None:
        tls = _load_tls_context(settings.tls_cert, settings.tls_key, None, signals)
    with closing(HttpServer(settings, tls)) as http:
        host, port = http.address
        print(f"http on {host}:{port}", flush=True)
        yield http


def _name_host(url: str) -> str:
    """Returns an address with this machine's name in place of one that means all of its addresses."""
    for each in ("//0.0.0.0:", "//[::]:"):
        url = url.replace(each, f"//{gethostname()}:")
    return url


def _raise_file_limit() -> None:
    """Raises the limit of open files: many systems start programs with 1024, fewer than clients and tables need."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_FILES if hard == resource.RLIM_INFINITY else min(MAX_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _get_gpus(engine: str) -> tuple[str, ...]:
    """Returns the GPUs to run on: none for other engines; 58000 if the GPU engine is requested and cannot run."""
    from gpudb.cli import machine
    from gpudb.errors import SqlError

    if engine not in {"auto", "gpu"}:
        return ()
    gpus = machine.query_gpus()
    name, reason = machine.select_engine(gpus)
    if name == "gpu":
        return machine.list_visible_gpus(gpus)
    if engine == "auto":
        return ()
    message = f"the GPU engine cannot run here: {reason}"
    raise SqlError.of("system_error", message, hint="gpudb doctor tells what is missing; --engine auto does without.")


def _make_tls_context(settings: Settings, signals: Signals) -> ssl.SSLContext:
    from gpudb.server.wire.tls import make_self_signed_context

    if settings.tls_cert is None or settings.tls_key is None:
        return make_self_signed_context(settings.data_dir, settings.host, settings.tls_ca)
    return _load_tls_context(settings.tls_cert, settings.tls_key, settings.tls_ca, signals)


def _load_tls_context(certificate: Path, key: Path, authorities: Path | None, signals: Signals) -> ssl.SSLContext:
    """Returns a context of files, which SIGHUP loads again."""
    from gpudb.server.wire.tls import RenewableCertificate

    renewable = RenewableCertificate(certificate, key, authorities)
    signals.reloads.append(renewable.reload)
    return renewable.context
