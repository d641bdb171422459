"""Runs a psql script on PostgreSQL and on gpudb and compares, statement by statement, what a client sees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tests.support.oracle.compare import differences, error_differences
from tests.support.oracle.wire import Outcome, WireClient
from tests.support.psql_script import Entry

_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class Compared:
    """One statement on both servers, and how they differ."""

    entry: Entry
    oracle: Outcome
    gpudb: Outcome
    differences: tuple[str, ...]


class _Side:
    """One server's session, which `\\c` opens anew."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self.client = WireClient(dsn, _TIMEOUT_S)

    def run(self, entry: Entry) -> tuple[Outcome, list[tuple[str | None, ...]]]:
        if not self.client.alive:
            self.reconnect()
        if entry.data is None:
            outcome = self.client.execute(entry.text)
        else:
            outcome = self.client.copy_in(entry.text, [entry.data.encode()])
        return outcome, list(self.client.notices)

    def reconnect(self) -> None:
        self.client.close()
        self.client = WireClient(self._dsn, _TIMEOUT_S)


def compare(entries: Sequence[Entry], oracle_dsn: str, gpudb_dsn: str) -> tuple[list[Compared], Counter[str]]:
    """Runs a script on both servers. Returns what was compared, and how often each skipped command came up."""
    oracle, gpudb = _Side(oracle_dsn), _Side(gpudb_dsn)
    skipped: Counter[str] = Counter()
    compared = []
    for entry in entries:
        if entry.is_command:
            name = entry.text.split()[0]
            if name == "\\c":
                oracle.reconnect()
                gpudb.reconnect()
            else:
                skipped[name] += 1
            continue
        (expected, heard), (actual, told) = oracle.run(entry), gpudb.run(entry)
        found = differences(expected, actual, ordered=False)
        if not found and expected.failed:
            found = error_differences(expected, actual)
        if heard != told:
            found.append(f"notices: oracle {heard}, gpudb {told}")
        compared.append(Compared(entry, expected, actual, tuple(found)))
        if expected.status == "I" and actual.status not in ("I", "?"):
            gpudb.client.execute("ROLLBACK")
    oracle.client.close()
    gpudb.client.close()
    return compared, skipped


def describe(each: Compared) -> str:
    """Returns a statement and its differences as text of several lines."""
    return "\n".join([f"line {each.entry.line}: {each.entry.text}", *(f"    {text}" for text in each.differences)])
