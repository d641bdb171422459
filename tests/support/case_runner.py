"""Runs the statements of a case file in one session of a server and collects their outcomes."""

from __future__ import annotations

from collections.abc import Sequence

from tests.support.case_files import Statement
from tests.support.oracle.wire import CONNECTION_LOST, Outcome, WireClient

STATEMENT_TIMEOUT_S = 20.0
_MOST_LOSSES = 2


def run(
    statements: Sequence[Statement],
    dsn: str,
    reference: Sequence[Outcome] | None = None,
    extended: bool = False,
) -> list[Outcome]:
    """Runs all statements in one session, by the simple or the extended protocol; reconnects at most twice.

    If a transaction has ended in `reference` but not here, it is rolled back, so that one wrong answer causes no
    others.
    """
    outcomes: list[Outcome] = []
    losses = 0
    client = WireClient(dsn, STATEMENT_TIMEOUT_S)
    try:
        for number, statement in enumerate(statements):
            if losses > _MOST_LOSSES:
                outcomes.append(Outcome(sqlstate=CONNECTION_LOST, message="gave up: the server keeps going away"))
                continue
            outcome = client.execute_extended(statement.sql) if extended else client.execute(statement.sql)
            outcomes.append(outcome)
            if not client.alive:
                losses += 1
                client.close()
                if losses <= _MOST_LOSSES:
                    client = WireClient(dsn, STATEMENT_TIMEOUT_S)
            elif reference is not None and reference[number].status == "I" and outcome.status != "I":
                client.execute("ROLLBACK")
    finally:
        client.close()
    return outcomes
