"""Runs a transaction on PostgreSQL and on gpudb, rolls it back, and classifies each statement's outcomes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tests.support.fuzz.statements import Transaction
from tests.support.generated.compare import Difference
from tests.support.generated.differences import reason
from tests.support.generated.statement import Made
from tests.support.oracle.compare import differences
from tests.support.oracle.wire import Outcome, WireClient

TIMEOUT_S = 15
ANSWER_S = 30.0

FAULTS = frozenset({"XX", "08", "58"})
"""Classes of SQLSTATE that no statement may end in: internal errors, a lost connection, a failing system."""

# Statements that end the transaction, or that change server state beyond it.
_CONTROL = re.compile(
    r"(?:^|;)\s*(?:commit|end|rollback|abort|begin|start|savepoint|release|prepare|execute|deallocate|declare|fetch|close|move|"
    r"discard|vacuum|analyze|copy|listen|notify|checkpoint|reset|lock|create\s+(?:database|role|user)|alter\s+(?:system|role|user)"
    r"|drop\s+(?:database|role|user)|explain|show|cluster|reindex|load|do|call|import|security|set\s+(?:session|transaction))\b"
    r"|load_data|distribute",
    re.I,
)  # fmt: skip

# Outcomes that may differ from run to run, or describe the server.
_OWN = re.compile(
    r"\b(?:now|random|clock_timestamp|statement_timestamp|transaction_timestamp|timeofday|current_\w+|localtime\w*|session_user|"
    r"user|version|pg_\w+|txid\w*|gen_random_uuid|nextval|currval|lastval|setval|inet_\w+|information_schema|to_reg\w*|reg\w+|oid|ctid|"
    r"xmin|tableoid|age|setseed|today|tomorrow|yesterday|has_\w+privilege|obj_description|col_description|shobj_description|"
    r"query_to_xml|dblink|lo_\w+|schema_to_xml|sleep|system|bernoulli|tablesample|generate_subscripts|ts_\w+|to_ts\w+|array_sample|array_shuffle)\b",
    re.I,
)  # fmt: skip

# Outcomes that depend on ties or on the order of input rows.
_OPEN = re.compile(
    r"\b(?:limit|fetch|offset|distinct\s+on|row_number|ntile|lag|lead|first_value|last_value|nth_value|array_agg|string_agg|"
    r"json\w*_agg|jsonb\w*_agg|rows\s+between|rows\s+\d|mode|ctid|array|any_value|json_object_agg|exclude|percent_rank|groups)\b",
    re.I,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Verdict:
    """Classification of a statement's two outcomes.

    `kind` is same, refused (0A000 where PostgreSQL answers), listed (an intended difference), apart (two SQLSTATEs),
    uncompared, unexplained (an answer where the other refuses, or other rows) or fault (an internal error, no answer).
    """

    kind: str
    detail: str = ""


def comparable(transaction: Transaction) -> bool:
    """Returns whether the transaction means the same on both servers."""
    return len(transaction.statements) > 1 or (
        _CONTROL.search(transaction.statements[0]) is None and len(transaction.statements[0]) < 20_000
    )


def verdicts(oracle: WireClient, gpudb: WireClient, transaction: Transaction) -> Iterator[tuple[str, Verdict]]:
    """Runs a transaction on both servers, rolls it back and classifies each statement.

    A statement that fails on both is undone and the rest runs; if only one fails, or a session is lost, it stops.
    """
    sides, several = (oracle, gpudb), len(transaction.statements) > 1
    _both(sides, "BEGIN")
    if transaction.zone != "UTC":
        _both(sides, f"SET LOCAL TimeZone = '{transaction.zone}'")
    for sql in transaction.statements:
        if several:
            _both(sides, "SAVEPOINT each_statement")
        expected, actual = (side.execute(sql) for side in sides)
        verdict = judge(sql, expected, actual, transaction.settled)
        yield sql, verdict
        if expected.failed != actual.failed or not all(side.alive for side in sides):
            break
        if several and expected.failed:
            _both(sides, "ROLLBACK TO each_statement")
    _both(sides, "ROLLBACK")
    if several:
        _both(sides, "DEALLOCATE ALL")


def _both(sides: tuple[WireClient, WireClient], sql: str) -> None:
    for side in sides:
        if side.alive:
            side.execute(sql)


def own_fault(outcome: Outcome) -> str | None:
    """Returns an outcome's fault that does not depend on PostgreSQL's answer, or None."""
    if outcome.sqlstate is None:
        return None
    if outcome.sqlstate[:2] in FAULTS:
        return "internal error"
    if not outcome.message or "Traceback" in outcome.message or 'File "' in outcome.message:
        return "unclear message"
    return None


def judge(sql: str, oracle: Outcome, gpudb: Outcome, settled: bool) -> Verdict:
    """Compares two outcomes of one statement; `settled` if it has exactly one answer."""
    if (wrong := own_fault(gpudb)) is not None:
        return Verdict("fault", f"{wrong}: {gpudb.sqlstate} {gpudb.message}")
    if gpudb.sqlstate == "57014" and oracle.sqlstate != "57014":
        return Verdict("fault", f"no answer within {TIMEOUT_S} s")
    if oracle.sqlstate in {"57014", "08006", "54001", "54000", "53200"} or (oracle.sqlstate or "").startswith("XX"):
        return Verdict("uncompared")
    found = differences(oracle, gpudb, ordered=False)
    if not found:
        return Verdict("same")
    if oracle.sqlstate is not None and gpudb.sqlstate is not None:
        return Verdict("apart", f"{oracle.sqlstate} {oracle.message} / {gpudb.sqlstate} {gpudb.message}")
    if gpudb.sqlstate == "0A000":
        return Verdict("refused", gpudb.message)
    if not settled and not oracle.failed and not gpudb.failed and (_OWN.search(sql) or _OPEN.search(sql)):
        if (oracle.columns, oracle.oids) == (gpudb.columns, gpudb.oids):
            return Verdict("uncompared")
    made = Difference(Made("expression", sql), oracle, gpudb, tuple(found))
    if reason(made) is not None:
        return Verdict("listed")
    return Verdict("unexplained", "; ".join(line.strip() for line in found))
