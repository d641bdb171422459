"""`gpudb top`: a server in the terminal, again and again: sessions, statements, the queue, and its devices.

Keys sort the statements and end it. Its own statements are left out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import postgast
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.table import Table

import gpudb.api
from gpudb.api.connection import Connection
from gpudb.cli.keys import reading_keys
from gpudb.cli.output import format_duration, format_size
from gpudb.errors import SqlError

_DATABASE = """
SELECT numbackends, xact_commit, xact_rollback, tup_inserted + tup_updated + tup_deleted
FROM pg_stat_database WHERE datname = current_database()"""
_SESSIONS = """
SELECT pid, coalesce(usename, ''), coalesce(state, ''), coalesce(wait_event, ''),
    coalesce(extract(epoch FROM clock_timestamp() - query_start), 0)::float8, coalesce(query, '')
FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'
ORDER BY state <> 'active', query_start"""
_STATEMENTS = """
SELECT userid::bigint, coalesce(queryid, 0), query, calls, total_exec_time, rows FROM pg_stat_statements"""
_DEVICES = """
SELECT worker, kind, name, memory_bytes, resident_bytes, utilization, memory_utilization
FROM gpudb_devices ORDER BY worker"""
_QUEUES = frozenset({"Admission", "ClusterAdmission"})
_SHOWN = 12
_Change = tuple[float, int, int, str]
"""What a statement has done: milliseconds, calls, rows, its text."""
SORTS: dict[str, Callable[[_Change], float]] = {
    "time": lambda change: change[0],
    "calls": lambda change: change[1],
    "mean": lambda change: change[0] / change[1],
    "rows": lambda change: change[2],
}
"""What statements are sorted by, the greatest first; each has its first letter as its key."""
_ENDS = frozenset({"q", "Q", "\x04"})

Totals = tuple[int, float, int]
Key = tuple[int, int, str]


@dataclass(slots=True)
class Sample:
    """What a server tells at a moment, which is `time.monotonic()`. Totals of statements are calls, ms and rows."""

    moment: float
    sessions: int
    """Without that of this program."""
    transactions: int
    changed_rows: int
    activity: Sequence[tuple[int, str, str, str, float, str]]
    statements: dict[Key, Totals] = field(default_factory=dict)
    devices: Sequence[tuple[int, str, str, int, int, float | None, float | None]] = ()
    """Worker, kind, name, bytes of memory and of columns, the shares of time of computing and of using memory."""


def run(target: str | None, *, interval: float, once: bool, sort: str = "time") -> int:
    """Shows a server until q or Ctrl-C, or once. Returns the exit status; 22023 for an unknown order of statements."""
    if sort not in SORTS:
        hint = f"It is {', '.join(SORTS)}."
        raise SqlError.of("invalid_parameter_value", f'statements are not sorted by "{sort}"', hint=hint)
    console = Console()
    with gpudb.api.connect(target) as connection:
        before = take_sample(connection)
        if once:
            console.print(render(None, before, sort))
            return 0
        try:
            with (
                reading_keys() as read_key,
                Live(render(None, before, sort), console=console, screen=console.is_terminal) as live,
            ):
                now, last = before, None
                while True:
                    key = read_key(interval)
                    if key in _ENDS:
                        return 0
                    chosen = next((name for name in SORTS if key and name[0] == key), None)
                    if chosen is not None:
                        sort = chosen
                    elif not key:
                        last, now = now, take_sample(connection)
                    live.update(render(last, now, sort), refresh=True)
        except KeyboardInterrupt:
            return 0


def take_sample(connection: Connection) -> Sample:
    """Asks a server's views."""
    ((sessions, commits, rollbacks, changed),) = _ask(connection, _DATABASE)
    statements: dict[Key, Totals] = {}
    for role, query, text, calls, spent, rows in _ask(connection, _STATEMENTS):
        if any(own in text for own in _own_texts()):  # the connection puts them into a COPY
            continue
        known = statements.get((role, query, text), (0, 0.0, 0))  # others' queries have one text for all
        statements[role, query, text] = known[0] + calls, known[1] + spent, known[2] + rows
    activity, devices = _ask(connection, _SESSIONS), _ask(connection, _DEVICES)
    return Sample(time.monotonic(), sessions - 1, commits + rollbacks, changed, activity, statements, devices)


@cache
def _own_texts() -> frozenset[str]:
    """What pg_stat_statements has of the queries of this file."""
    return frozenset(postgast.normalize(each).strip() for each in (_DATABASE, _SESSIONS, _STATEMENTS, _DEVICES))


def _ask(connection: Connection, query: str) -> list[Any]:
    return [(*row,) for row in connection.execute(query)]


def render(before: Sample | None, now: Sample, sort: str = "time") -> RenderableType:
    """Returns the screen: what happened since the sample before, or since the server's start without one."""
    parts: list[RenderableType] = [_summarize(before, now), _list_sessions(now), _list_statements(before, now, sort)]
    if now.devices:
        parts.append(_list_devices(now))
    return Group(*parts)


def _summarize(before: Sample | None, now: Sample) -> str:
    active = sum(state == "active" for _, _, state, *_ in now.activity)
    queued = sum(wait in _QUEUES for _, _, _, wait, *_ in now.activity)
    text = f"{now.sessions} session{'' if now.sessions == 1 else 's'}, {active} active, {queued} queued"
    if before is None:
        return f"{text}; {now.transactions} transactions, {now.changed_rows} changed rows since the start"
    seconds = max(now.moment - before.moment, 1e-9)
    transactions = (now.transactions - before.transactions) / seconds
    changed = (now.changed_rows - before.changed_rows) / seconds
    return f"{text}; {transactions:.1f} transactions/s, {changed:.0f} changed rows/s"


def _make_table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=None, expand=True, pad_edge=False)
    for column in columns:
        is_text = column in {"role", "state", "waits for", "query", "name", "kind"}
        table.add_column(
            column, justify="left" if is_text else "right", no_wrap=True, ratio=1 if column == "query" else None
        )
    return table


def _list_sessions(now: Sample) -> Table:
    table = _make_table("Sessions", "pid", "role", "state", "waits for", "for", "query")
    for pid, role, state, wait, seconds, query in now.activity[:_SHOWN]:
        spent = format_duration(seconds) if state == "active" else ""
        table.add_row(str(pid), escape(role), state, wait, spent, escape(_shorten(query)))
    return table


def _list_statements(before: Sample | None, now: Sample, sort: str) -> Table:
    keys = ", ".join(f"{name[0]}: {name}" for name in SORTS)
    table = _make_table(f"Statements by {sort}  ({keys}, q: end)", "calls", "time", "mean", "rows", "query")
    known = {} if before is None else before.statements
    found: list[_Change] = []
    for key, (calls, spent, rows) in now.statements.items():
        old = known.get(key, (0, 0.0, 0))
        if calls > old[0]:
            found.append((spent - old[1], calls - old[0], rows - old[2], key[2]))
    for spent, calls, rows, query in sorted(found, key=SORTS[sort], reverse=True)[:_SHOWN]:
        times = format_duration(spent / 1000), format_duration(spent / 1000 / calls)
        table.add_row(str(calls), *times, str(rows), escape(_shorten(query)))
    return table


def _list_devices(now: Sample) -> Table:
    table = _make_table("Devices", "worker", "kind", "name", "memory", "resident", "computes", "bandwidth")
    for worker, kind, name, memory, resident, *shares in now.devices:
        used = ("-" if share is None else f"{share:.0%}" for share in shares)
        table.add_row(str(worker), kind, escape(name), format_size(memory), format_size(resident), *used)
    return table


def _shorten(query: str) -> str:
    return " ".join(query[:1000].split())
