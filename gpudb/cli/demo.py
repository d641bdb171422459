"""`gpudb demo`: a server, taxi rides loaded by COPY through psycopg, four queries, and how to connect."""

from __future__ import annotations

import queue
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from gpudb.cli.output import format_duration, format_size
from gpudb.cli.program import Program
from gpudb.demo import statements
from gpudb.errors import GpudbError

if TYPE_CHECKING:
    from psycopg import Connection

PORT = 5433
QUEUED_PIECES = 8
"""Pieces of CSV that may be queued for the server, of about 7 MB each."""

_MAX_ROWS = 10
_RUNS = 5
"""Runs of a query: the first one reads its columns from files, the fastest of the others is reported."""


def run(
    rows: int, data_dir: Path | None, *, keep: bool, seed: int, console: bool = False, port: int | None = None
) -> None:
    """Runs the whole demonstration; leaves nothing running or on disk unless asked.

    Without a port it takes PORT if that is free, else another one. 22023 for a console without a server that goes on.
    """
    if console and not keep:
        message = "the console needs a server that goes on"
        raise GpudbError(message, hint="Run: gpudb demo --keep --console", condition="invalid_parameter_value")
    if find_spec("psycopg") is None:
        message = "the demonstration loads its rides through psycopg, a PostgreSQL driver that is not installed"
        hint = "Run: pip install 'psycopg[binary]'  (make demo does it by itself)"
        raise GpudbError(message, hint=hint, condition="sqlclient_unable_to_establish_sqlconnection")
    screen = Console(highlight=False)
    folder = Path(tempfile.mkdtemp(prefix="gpudb-demo-"))
    is_kept = False
    program = None
    try:
        started = time.perf_counter()
        program = _start(data_dir or folder / "data", folder / "server.log", port, http=console)
        screen.print(
            f"[bold]gpudb[/] is listening on 127.0.0.1:{program.port} "
            f"(started in {format_duration(time.perf_counter() - started)})"
        )
        _load_and_query(screen, program.url, rows, seed)
        _print_connection_help(screen, program, data_dir or folder / "data", keep=keep)
        if console:
            _open_dashboard(screen, program)
        is_kept = keep
    finally:
        if not is_kept:
            if program is not None:
                program.stop()
            shutil.rmtree(folder, ignore_errors=True)
    if not is_kept:
        screen.print("The server was stopped" + ("." if data_dir else ", and its data removed."))


def _open_dashboard(screen: Console, program: Program) -> None:
    """Stores the dashboard of the rides, and opens it where there is a browser."""
    from gpudb.api.console import open_browser
    from gpudb.demo.dashboard import store_dashboard

    address = store_dashboard(program.console_url)
    screen.print(f"\n[bold]The console[/] shows the rides at\n  {address}", soft_wrap=True)
    open_browser(address)


def _start(data_dir: Path, log: Path, port: int | None, *, http: bool) -> Program:
    """Starts on a port, or without one on gpudb serve's default if it is free."""
    if port is not None:
        return Program(data_dir, log, port, http=http)
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", PORT))
        except OSError:
            return Program(data_dir, log, http=http)
    try:
        return Program(data_dir, log, PORT, http=http)
    except GpudbError:  # another process took it
        return Program(data_dir, log, http=http)


def _load_and_query(console: Console, url: str, rows: int, seed: int) -> None:
    import psycopg

    with psycopg.connect(url, connect_timeout=10, autocommit=True) as connection:
        existing = connection.execute("SELECT count(*) FROM pg_tables WHERE tablename = 'trips'").fetchone()
        if existing == (1,):
            counted = connection.execute("SELECT count(*) FROM trips").fetchone()
            assert counted is not None
            console.print(f"\nThe table trips is there already, with {counted[0]:,} rides.")
        else:
            _load(console, connection, rows, seed)
        for number, (title, text) in enumerate(statements.read_queries(), 1):
            _run_query(console, connection, number, title, text)


def _load(console: Console, connection: Connection, rows: int, seed: int) -> None:
    connection.execute(statements.read_create_table())
    console.print(f"\nCOPY trips FROM STDIN: {rows:,} taxi rides of 51 columns, made as they are sent")
    columns = (
        BarColumn(),
        TextColumn("{task.completed:,} rides"),
        TextColumn("{task.fields[rate]:,.0f} rides/s"),
        TimeElapsedColumn(),
    )
    sent = 0
    started = time.perf_counter()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=rows, rate=0.0)
        done = 0
        with connection.cursor().copy("COPY trips FROM STDIN (FORMAT csv)") as copy:
            for count, piece in _generate_ahead(rows, seed):
                copy.write(piece)
                sent += len(piece)
                done += count
                progress.update(task, completed=done, rate=done / (time.perf_counter() - started))
    took = time.perf_counter() - started
    console.print(
        f"loaded {rows:,} rides ({format_size(sent)} of CSV) in {format_duration(took)}: "
        f"[bold]{rows / took:,.0f} rides/s[/], {format_size(sent / took)}/s"
    )


def _generate_ahead(rows: int, seed: int) -> Iterator[tuple[int, bytes]]:
    """Yields pieces of (rides, CSV), generated in a thread while earlier ones are sent."""
    from gpudb.demo.taxi import BLOCK, generate_csv

    pieces: queue.Queue[tuple[int, bytes] | BaseException | None] = queue.Queue(QUEUED_PIECES)
    stopped = threading.Event()

    def put(item: tuple[int, bytes] | BaseException | None) -> None:
        while not stopped.is_set():
            try:
                pieces.put(item, timeout=0.1)
                return
            except queue.Full:
                continue

    def make() -> None:
        try:
            done = 0
            for piece in generate_csv(rows, seed):
                count = min(BLOCK, rows - done)
                done += count
                put((count, piece))
            put(None)
        except BaseException as error:
            put(error)

    thread = threading.Thread(target=make, name="rides", daemon=True)
    thread.start()
    try:
        while (item := pieces.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stopped.set()
        thread.join(10)


def _run_query(console: Console, connection: Connection, number: int, title: str, text: str) -> None:
    times = []
    for _ in range(_RUNS):
        started = time.perf_counter()
        cursor = connection.execute(text)
        rows = cursor.fetchall()
        times.append(time.perf_counter() - started)
    table = Table(box=None, padding=(0, 2), header_style="bold")
    for column in cursor.description or ():
        table.add_column(column.name, justify="right")
    for row in rows[:_MAX_ROWS]:
        table.add_row(*("NULL" if value is None else str(value) for value in row))
    console.print(f"\n[bold]{number}. {title}[/]")
    console.print(text, style="cyan", soft_wrap=True)
    console.print(table)
    more = f", the first {_MAX_ROWS} shown" if len(rows) > _MAX_ROWS else ""
    console.print(
        f"({len(rows)} rows{more}; {format_duration(times[0])} at first, {format_duration(min(times[1:]))} at best)",
        style="dim",
    )


def _print_connection_help(console: Console, program: Program, data_dir: Path, *, keep: bool) -> None:
    if keep:
        console.print("\n[bold]The server goes on.[/] Connect with")
        console.print(f"  psql -h 127.0.0.1 -p {program.port} -U gpudb gpudb", soft_wrap=True)
        console.print(f"  gpudb sql {program.url}", soft_wrap=True)
        console.print(f'  python: gpudb.connect("{program.url}")', soft_wrap=True)
        console.print(f"Its data is in {data_dir}. Stop it with\n  kill {program.pid}", soft_wrap=True)
        return
    console.print("\nTo look around, leave the server running and connect with psql:")
    console.print("  gpudb demo --keep")
    console.print(f"  psql -h 127.0.0.1 -p {program.port} -U gpudb gpudb")
