"""Runs a psql script on PostgreSQL 16 and on gpudb's server program, and tells how many statements are the same.

    python -m tests.session.authorization.compare_script FILE [--save RESULT.json]

Made for PostgreSQL's regression tests of privileges and of row level security, src/test/regress/sql/privileges.sql and
rowsecurity.sql. A statement is the same if a
client sees the same: SQLSTATE, message, detail, hint, notices, columns, types, rows, command tag and transaction
status. Of psql's own commands \\c is run, others are counted. Each difference is told with its reason.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import tempfile
from pathlib import Path

from gpudb.distribution import __version__
from tests.support import psql_script, role_scenarios
from tests.support.oracle.wire import CONNECTION_LOST, WireClient
from tests.support.script_comparison import Compared, compare, describe
from tests.support.server_program import Program

SETUP = """
GRANT ALL ON SCHEMA public TO public;
CREATE TABLE int8_tbl (q1 int8, q2 int8);
GRANT SELECT ON int8_tbl TO public;
"""
"""What PostgreSQL's tests before that one leave behind and it uses."""

_UNDEFINED = {"42P01", "42883", "42704", "42703", "3F000", "42P07", "42710"}
_NOT_SUPPORTED, _DENIED, _ABORTED = "0A000", "42501", {"25P02", "3B001"}
_CREATED = re.compile(
    r"CREATE\s+(?:OR\s+REPLACE\s+)?(?:UNIQUE\s+|MATERIALIZED\s+|CONSTRAINT\s+)?"
    r"(?:TABLE|VIEW|FUNCTION|PROCEDURE|AGGREGATE|OPERATOR|INDEX(?:\s+CONCURRENTLY)?|TRIGGER)\s+(?!ON\s)(?P<name>[^\s(]+)",
    re.I,
)
_GRANTED = re.compile(r"GRANT\s.*\sON\s+(?:TABLE\s+)?(?P<name>\w+)\s+TO\s", re.I | re.S)
_SHOWN = 160
_LARGE_OBJECTS = "large objects are not supported"
# Reasons that nothing but the statement, or what the servers say of it, tells
_KNOWN = (
    (re.compile(r"^EXPLAIN", re.I), "EXPLAIN shows the plan of another engine"),
    (re.compile("TABLESAMPLE"), "TABLESAMPLE chooses other rows"),
    (re.compile("string_to_array.polqual|'pg_policies'|FROM pg_policies"), "policies are stored and shown as SQL text"),
    (re.compile(r"\blo_\w+|\blo\w+\(|LARGE ?OBJECT", re.I), _LARGE_OBJECTS),
    (re.compile(r"GRANT on LANGUAGE|REVOKE on LANGUAGE|permission denied for language|priv_testfunc3"),
     "GRANT and REVOKE on LANGUAGE are not supported"),
    (re.compile("column \"xmin\""), "columns of row versions (xmin, …) are not supported"),
    (re.compile("kept as a declaration"), "CREATE INDEX tells that an index is kept as a declaration"),
    (re.compile(r"2::int2|pg\.dropped"), "the columns behind a dropped one are numbered anew"),
    (re.compile("REFRESH MATERIALIZED VIEW CONCURRENTLY"), "a partial index is not supported"),
    (re.compile("aclitem"), "the text of an aclitem is not checked, and makeaclitem() is not supported"),
    (re.compile("pg_shdepend"), "pg_shdepend has no rows"),
    (re.compile(r"pg_toast\."), "there are no TOAST tables"),
)  # fmt: skip


class _Reasons:
    """Finds why a statement differs: itself is not supported, or it uses what such a statement would have made."""

    def __init__(self) -> None:
        self._missing: dict[str, str] = {}
        self._not_granted: dict[str, str] = {}
        self._aborted = ""

    def find(self, each: Compared) -> str:
        reason = self._find(each)
        is_alone = each.gpudb.failed and not each.oracle.failed
        if is_alone and (created := _CREATED.match(each.entry.text)):
            self._missing[created["name"].rpartition(".")[2]] = reason
        if is_alone and (granted := _GRANTED.match(each.entry.text)):
            self._not_granted[granted["name"]] = reason
        if each.gpudb.status == "E" and each.oracle.status != "E" and each.gpudb.sqlstate not in _ABORTED:
            self._aborted = reason
        return reason

    def _find(self, each: Compared) -> str:
        actual = each.gpudb
        if actual.sqlstate == CONNECTION_LOST:
            return "connection lost"
        if actual.sqlstate in _ABORTED:
            return self._aborted
        if actual.sqlstate in _UNDEFINED and (found := _find_named(self._missing, each.entry.text)):
            return found
        if actual.sqlstate == _DENIED and (found := _find_named(self._not_granted, each.entry.text)):
            return found
        told = "\n".join((each.entry.text, actual.message, each.oracle.message, actual.detail or "", *each.differences))
        for pattern, reason in _KNOWN:
            if pattern.search(told):
                return reason
        return actual.message if actual.sqlstate == _NOT_SUPPORTED else "other"


def _find_named(reasons: dict[str, str], text: str) -> str:
    """Returns the reason of a name that occurs in a statement; empty if none does."""
    named = (name for name in reasons if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text))
    return reasons.get(next(named, ""), "")


def main() -> None:
    """Compares, prints and saves."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--save", type=Path, help="the file for the result, as JSON")
    arguments = parser.parse_args()
    text = arguments.file.read_text(encoding="utf-8")
    with (
        role_scenarios.start_role_oracle() as oracle,
        tempfile.TemporaryDirectory(prefix="gpudb-compare-") as folder,
        Program(Path(folder) / "data") as program,
        WireClient(oracle.dsn) as client,
    ):
        compare(psql_script.read(SETUP), oracle.dsn, program.dsn)
        compared, skipped = compare(psql_script.read(text), oracle.dsn, program.dsn)
        server = client.execute("SHOW server_version").rows[0][0]
    reasons = _Reasons()
    by_reason: dict[str, list[Compared]] = {}
    for each in compared:
        reason = reasons.find(each)
        if each.differences:
            print(f"{describe(each)}\n    reason: {reason}")
            by_reason.setdefault(reason, []).append(each)
    different = sum(map(len, by_reason.values()))
    share = 1 - different / len(compared)
    print(f"{len(compared) - different} of {len(compared)} statements are the same: {share:.1%}")
    for reason, found in sorted(by_reason.items(), key=lambda pair: -len(pair[1])):
        print(f"{len(found):5d}  {reason}")
    print(f"skipped: {dict(skipped)}")
    if arguments.save is not None:
        result = {
            "command": f"python -m tests.session.authorization.compare_script {arguments.file.name}",
            "script": {"name": arguments.file.name, "sha256": hashlib.sha256(text.encode()).hexdigest()},
            "postgresql": server,
            "gpudb": __version__,
            "statements": len(compared),
            "same": len(compared) - different,
            "share": round(share, 4),
            "skipped": dict(skipped),
            "differences": [
                {"reason": reason, "statements": [_summarize(each) for each in found]}
                for reason, found in sorted(by_reason.items(), key=lambda pair: -len(pair[1]))
            ],
        }
        arguments.save.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _summarize(each: Compared) -> dict[str, object]:
    words = " ".join(each.entry.text.split()[:3])
    return {"line": each.entry.line, "begins": words[:60], "difference": each.differences[0].strip()[:_SHOWN]}


if __name__ == "__main__":
    main()
