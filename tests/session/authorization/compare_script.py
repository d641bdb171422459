"""Runs a psql script on PostgreSQL 16 and on gpudb's server program, and compares statement by statement.

    python -m tests.session.authorization.compare_script FILE [--save RESULT.json] [--reasons REASONS.toml]

Made for PostgreSQL's regression test of privileges, src/test/regress/sql/privileges.sql. Two outcomes are the same if a
client sees the same: SQLSTATE, message, detail, hint, notices, columns, types, rows, command tag, transaction status.
Of psql's own commands \\c is run, others are counted. Each difference is told with its reason.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support import psql_script, role_scenarios
from tests.support.oracle.compare import differences, error_differences
from tests.support.oracle.wire import CONNECTION_LOST, Outcome, WireClient
from tests.support.psql_script import Entry
from tests.support.server_program import Program

# What the tests that PostgreSQL runs before this one leave behind
SETUP = (
    "GRANT ALL ON SCHEMA public TO public",
    "CREATE TABLE int8_tbl (q1 int8, q2 int8)",
    "GRANT SELECT ON int8_tbl TO public",
)
_UNDEFINED = {"42P01", "42883", "42704", "42703", "3F000", "42P07", "42710"}
_NOT_SUPPORTED, _ABORTED = "0A000", "25P02"
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
    for sql in SETUP:
        for side in (oracle, gpudb):
            outcome, _ = side.run(Entry(0, sql))
            assert not outcome.failed, f"{sql}: {outcome.message}"
    for entry in entries:
        if entry.is_command:
            name = entry.text.split()[0]
            if name in ("\\c", "\\connect"):
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


def find_reason(each: Compared, reasons: Sequence[tuple[str, str]]) -> str:
    """Returns why a statement differs: a reason of the list whose pattern its text matches, else what gpudb says."""
    for pattern, reason in reasons:
        if re.search(pattern, each.entry.text, re.I | re.S):
            return reason
    if each.gpudb.sqlstate == _NOT_SUPPORTED:
        return f"not supported: {each.gpudb.message}"
    if each.gpudb.sqlstate == CONNECTION_LOST:
        return "connection lost"
    if each.gpudb.sqlstate == _ABORTED:
        return "in a transaction in which an earlier statement differs"
    if each.gpudb.sqlstate in _UNDEFINED and not each.oracle.failed:
        return "uses what a statement that is not supported would have created"
    return "other"


def main() -> None:
    """Compares and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--save", type=Path, help="the file for the result, as JSON")
    arguments = parser.parse_args()
    entries = psql_script.read(arguments.file.read_text(encoding="utf-8"))
    with role_scenarios.start_role_oracle() as oracle, tempfile.TemporaryDirectory(prefix="gpudb-compare-") as folder:
        with Program(Path(folder) / "data") as program:
            compared, skipped = compare(entries, oracle.dsn, program.dsn)
            with WireClient(oracle.dsn) as client:
                version = client.execute("SHOW server_version").rows[0][0]
    different = [each for each in compared if each.differences]
    for each in different:
        print(f"line {each.entry.line}: {each.entry.text}")
        for text in each.differences:
            print(f"    {text}")
        print(f"    reason: {find_reason(each, ())}")
    same = len(compared) - len(different)
    counted = Counter(find_reason(each, ()) for each in different)
    print(f"{same} of {len(compared)} statements are the same: {same / len(compared):.1%}")
    for reason, count in counted.most_common():
        print(f"{count:5d}  {reason}")
    print(f"skipped: {dict(skipped)}")


if __name__ == "__main__":
    main()
