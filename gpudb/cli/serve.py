"""`gpudb serve`: opens the database, listens, and shuts down by a signal as PostgreSQL does.

SIGTERM (smart): idle clients get 57P01, transactions have `shutdown_timeout` to end, then are cancelled.
SIGINT (fast), or a second SIGTERM: transactions are cancelled at once. SIGQUIT (immediate): the process ends as it is,
and the next start recovers. Until the end, new clients get 57P03.

SIGHUP loads the rules of connections, the certificate and the passwords of `role_passwords` again, and reopens the
logs.

Health and metrics over HTTP are served from before the catalog is open until after it is closed.
"""

from __future__ import annotations

import logging
import os
import resource
import signal
import ssl
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from socket import gethostname
from types import FrameType
from typing import TYPE_CHECKING

from gpudb.cli.signal_wait import SignalWait
from gpudb.config import Settings
from gpudb.engine.gpu.cluster import forkserver
from gpudb.engine.startup_log import LOG, log_step

if TYPE_CHECKING:
    from gpudb.server.http.server import HttpServer

JOIN_S = 5.0
WARM_AFTER_S = 2.0
"""Delay in seconds after which a listening server loads what the first query of the catalog needs."""
TWIN_WORKERS = 2
PRIVATE_UMASK = 0o077
"""Mask of the modes of all files that the server and its workers create: they are for their owner alone."""
MAX_FILES = 65_536
_EVERY_ADDRESS = {"0.0.0.0", "::"}


def serve(settings: Settings) -> None:
    """Serves until a signal (see above). Errors: F0000 for settings, 55006 for a data directory or workers in use,
    08001 for the address, or a scheduler's."""
    os.umask(PRIVATE_UMASK)
    _raise_file_limit()
    stop, fast = threading.Event(), threading.Event()
    reloads: list[Callable[[], None]] = []

    def on_signal(number: int, frame: FrameType | None) -> None:
        if number == signal.SIGQUIT:
            os._exit(0)  # worker processes end with it
        if number == signal.SIGINT or stop.is_set():
            fast.set()
        stop.set()

    def on_hangup(number: int, frame: FrameType | None) -> None:
        threading.Thread(target=lambda: [reload() for reload in reloads], daemon=True).start()

    signal.signal(signal.SIGHUP, on_hangup)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, on_signal)
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s")

    workers = _get_worker_count(settings)
    gpus = _get_gpus(settings.engine) if settings.scheduler is None else ()
    if gpus or workers or settings.scheduler is not None:
        LOG.setLevel(logging.INFO)
    if settings.scheduler is None and (gpus or workers):
        forkserver.begin()  # it imports its libraries in parallel with this process
    log_step(f"{len(gpus)} GPUs are found")

    import gpudb.session.database  # noqa: F401

    log_step("the database's libraries are read")
    http = _start_http(settings)
    try:
        _serve_database(settings, workers, gpus, http, stop, fast, reloads)
    finally:
        if http is not None:
            http.close()


def _serve_database(
    settings: Settings,
    workers: int,
    gpus: Sequence[str],
    http: HttpServer | None,
    stop: threading.Event,
    fast: threading.Event,
    reloads: list[Callable[[], None]],
) -> None:
    """Opens the database and serves its clients until `stop`."""
    from gpudb.cli.role_passwords import apply_role_passwords, reapply_role_passwords
    from gpudb.errors import GpudbError
    from gpudb.observe.traces import TraceExporter
    from gpudb.server.wire.audit_log import AuditLog
    from gpudb.server.wire.configuration import Configuration
    from gpudb.server.wire.hba.file import HbaFile
    from gpudb.server.wire.server import PgServer
    from gpudb.server.wire.statement_log import StatementLog
    from gpudb.server.wire.tls import reload_certificate
    from gpudb.session.database import Database
    from gpudb.storage.backup.schedule import BackupSchedule

    traces = None
    if settings.trace_endpoint is not None:
        traces = TraceExporter(settings.trace_endpoint, settings.trace_ratio, settings.trace_limit)
    hba = None
    if settings.hba_file is not None:
        hba = HbaFile(settings.hba_file.absolute(), verifies_certificates=settings.tls_ca is not None)
    database = Database(
        settings.data_dir,
        memory_limit=settings.memory_limit,
        max_connections=settings.max_connections,
        reserved_connections=settings.superuser_reserved_connections,
        settings={
            "authentication_timeout": f"{round(settings.authentication_timeout * 1000)}ms",
            "hba_file": "" if hba is None else str(hba.path),
            "superuser_reserved_connections": str(settings.superuser_reserved_connections),
            "gpudb.max_running_statements": str(settings.max_running_statements),
            "gpudb.max_statement_timeout": settings.max_statement_timeout,
        },
        workers=workers,
        gpus=gpus,
        scheduler=settings.scheduler,
        twin=settings.engine == "twin",
        gpu_memory_limit=settings.gpu_memory_limit,
        cluster_certificates=settings.cluster_certificates,
        cluster_insecure=settings.cluster_insecure,
        scheduler_timeout=settings.scheduler_timeout,
        spill_dir=settings.spill_dir,
        temp_file_limit=settings.temp_file_limit,
        snapshot_retention=settings.snapshot_retention,
        snapshot_limit=settings.snapshot_limit,
        query_log_rows=settings.query_log_rows if settings.track_statements else 0,
        query_log_min_duration=settings.query_log_min_duration,
        catalog=settings.catalog,
        tables_url=settings.tables_url,
    )
    if traces is not None and database.cluster is not None:
        database.cluster.measure_exchanges()
    signals = SignalWait()
    log: StatementLog | None = None
    audit_log: AuditLog | None = None
    backups: BackupSchedule | None = None
    try:
        if settings.backup_dir is not None:
            backups = BackupSchedule(
                database.store, settings.backup_dir, settings.backup_interval, settings.backup_keep
            )
        if settings.statement_log is not None:
            log = StatementLog(settings.statement_log)
        if settings.audit_log is not None:
            audit_log = AuditLog(settings.audit_log)
        if settings.role_passwords is not None:
            apply_role_passwords(database, settings.role_passwords)
            reloads.append(partial(reapply_role_passwords, database, settings.role_passwords))
        database.configuration = Configuration(hba, log, audit_log)
        reloads.append(database.reload_configuration)
        tls = _make_tls_context(settings)
        if settings.tls_cert is not None and settings.tls_key is not None:
            reloads.append(partial(reload_certificate, tls, settings.tls_cert, settings.tls_key))
        try:
            server = PgServer(
                database,
                settings.host,
                settings.port,
                tls=tls,
                max_connections=settings.max_connections,
                authentication_timeout=settings.authentication_timeout,
                hba=hba,
                max_unauthenticated=settings.max_unauthenticated_connections,
                max_unauthenticated_per_address=settings.max_unauthenticated_per_address,
                failed_login_delay=settings.failed_login_delay,
                statement_log=log,
                audit_log=audit_log,
                recorder=database.recorder if settings.track_statements else None,
            )
        except OSError as error:
            message = f"cannot listen on {settings.host}:{settings.port}: {error.strerror or error}"
            hint = "Is another server running there? Choose another --port; 0 takes a free one."
            raise GpudbError(message, hint=hint, condition="sqlclient_unable_to_establish_sqlconnection") from None
        thread = threading.Thread(target=server.serve_forever, name="listener", daemon=True)
        thread.start()
        if settings.track_statements:
            if traces is not None:
                database.recorder.add_consumer(traces)
            database.recorder.start()
        host, port = server.address
        database.store.announce(gethostname() if host in _EVERY_ADDRESS else host, port)
        log_step("the server listens")
        print(f"listening on {host}:{port}", flush=True)
        if http is not None:
            http.collector.attach(database, server)
            http.readiness.opened(database)
        try:
            if not signals.wait(stop, WARM_AFTER_S):
                database.cpu.warm()
                if http is not None:
                    http.readiness.warmed()
            signals.wait(stop)
        finally:
            if http is not None:
                http.readiness.drain()
            server.shutdown(settings.shutdown_timeout, fast)
            thread.join(JOIN_S)
    finally:
        if backups is not None:
            backups.stop()
        if http is not None:
            http.collector.detach()
        database.close()
        for each in (log, audit_log, traces):
            if each is not None:
                each.close()
        signals.close()


def _start_http(settings: Settings) -> HttpServer | None:
    """Starts to serve health and metrics, before the catalog is open; None without a port."""
    if settings.http_port is None:
        return None
    from gpudb.server.http.server import HttpServer

    http = HttpServer(settings.http_host, settings.http_port)
    host, port = http.address
    print(f"http on {host}:{port}", flush=True)
    return http


def _raise_file_limit() -> None:
    """Raises the limit of open files: many systems start programs with 1024, fewer than clients and tables need."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_FILES if hard == resource.RLIM_INFINITY else min(MAX_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _get_worker_count(settings: Settings) -> int:
    """Returns the number of worker processes: 0 means all of a scheduler's; otherwise only the twin engine has any."""
    if settings.scheduler is not None:
        return settings.workers or 0
    return (settings.workers or TWIN_WORKERS) if settings.engine == "twin" else 0


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


def _make_tls_context(settings: Settings) -> ssl.SSLContext:
    from gpudb.server.wire.tls import make_self_signed_context, make_server_context

    if settings.tls_cert is not None and settings.tls_key is not None:
        return make_server_context(settings.tls_cert, settings.tls_key, settings.tls_ca)
    return make_self_signed_context(settings.data_dir, settings.host, settings.tls_ca)
