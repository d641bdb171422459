"""Generated, malformed and random SQL: PostgreSQL's answer or a clear error; session, server and data survive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from tests.support.fuzz.against import TIMEOUT_S, Verdict, comparable, own_fault, verdicts
from tests.support.fuzz.statements import Transaction, setup, transaction, transactions
from tests.support.oracle.server import Oracle
from tests.support.oracle.wire import WireClient
from tests.support.server_program import Program

CASES = 1_000
SOAK_CASES = 50_000
SOAK_PARTS = 5
PART_TRANSACTIONS = 8_200
"""Distance between the soak's parts in transactions; each part's fifth of the statements needs slightly fewer."""
SEED = 20261121
ANSWER_S = 30.0
TIMEOUT = f"SET statement_timeout = '{TIMEOUT_S}s'"

MOST_APART = 0.03
"""The share of statements that both refuse, each with its own SQLSTATE."""
MOST_REFUSED = 0.02
"""The share that gpudb alone refuses as unsupported."""

KEPT = """
CREATE SCHEMA kept;
CREATE TABLE kept.rows (n integer PRIMARY KEY, t text NOT NULL);
INSERT INTO kept.rows SELECT i, 'row ' || i FROM generate_series(1, 1000) i
"""
KEPT_SUM = "SELECT count(*), sum(n), min(t), max(length(t)) FROM kept.rows"
KEPT_ROW = (("1000", "500500", "row 1", "8"),)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    with Program(tmp_path_factory.mktemp("fuzz") / "data") as running:
        yield running
        assert "Traceback" not in running.read_log()
        assert running.stop() == 0


def _prepared(program: Program) -> WireClient:
    """A session with the tables that statements name."""
    client = WireClient(program.dsn, ANSWER_S)
    if client.execute(KEPT_SUM).failed:
        assert not client.execute(KEPT).failed
        _make_tables(client)
        client.close()  # with the setup's settings
        client = WireClient(program.dsn, ANSWER_S)
    client.execute(TIMEOUT)
    return client


def _make_tables(client: WireClient) -> None:
    for sql in setup():
        client.execute(sql)


def _alone(client: WireClient, sql: str) -> Verdict:
    """Returns a verdict on a statement that gpudb alone runs; rolls back its changes and resets its session."""
    client.execute("BEGIN")
    wrong = own_fault(client.execute(sql))
    for last in ("ROLLBACK", "DISCARD ALL", TIMEOUT):
        client.execute(last)
    return Verdict("alone") if wrong is None else Verdict("fault", wrong)


def _judged(oracle: WireClient, gpudb: WireClient, each: Transaction) -> Iterator[tuple[str, Verdict]]:
    if comparable(each):
        yield from verdicts(oracle, gpudb, each)
    else:
        yield each.statements[0], _alone(gpudb, each.statements[0])


def _session(dsn: str) -> WireClient:
    client = WireClient(dsn, ANSWER_S)
    client.execute(TIMEOUT)
    return client


def _run(program: Program, oracle: Oracle, seed: int, count: int, first: int = 0) -> None:
    """Runs the transactions of a seed from the `first` on, up to `count` statements."""
    with oracle.database(f"fuzz_{seed}_{first}") as dsn:
        with WireClient(dsn, ANSWER_S) as maker:
            _make_tables(maker)
        right, client = _session(dsn), _prepared(program)
        told: dict[str, list[str]] = {"fault": [], "unexplained": []}
        kinds = Counter[str]()
        for number, each in transactions(seed, count, first):
            for sql, verdict in _judged(right, client, each):
                kinds[verdict.kind] += 1
                if verdict.kind in told:
                    told[verdict.kind].append(f"{seed} {number}: {sql[:500]!r}\n    {verdict.detail[:300]}")
            if client.alive and client.status != "I" and client.execute("ROLLBACK").status != "I":
                told["fault"].append(f"the session hangs in its transaction: {seed} {number}")
            if not client.alive:
                client.close()
                client = _session(program.dsn)
            if not right.alive:
                right = _session(dsn)
        right.close()
    for kind, found in told.items():
        assert not found, f"{len(found)} {kind} of {dict(kinds)}\n" + "\n".join(found[:50])
    assert kinds["same"] > count * 0.9, kinds  # most are compared and equal
    assert kinds["apart"] <= count * MOST_APART, kinds
    assert kinds["refused"] <= count * MOST_REFUSED, kinds
    assert client.execute("SELECT 1").rows == (("1",),)
    assert client.execute(KEPT_SUM).rows == KEPT_ROW
    client.close()


@pytest.mark.timeout(600)
def test_some_statements(program: Program, oracle: Oracle) -> None:
    _run(program, oracle, SEED, CASES)


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("part", range(SOAK_PARTS))
def test_many_statements(program: Program, oracle: Oracle, part: int) -> None:
    _run(program, oracle, SEED + 1, SOAK_CASES // SOAK_PARTS, part * PART_TRANSACTIONS)


@pytest.mark.parametrize("name", ["several", "same"])
def test_statements_of_several_clients(program: Program, name: str) -> None:
    """Two concurrent clients, with different statements or the same, do not disturb each other."""
    one, other = _prepared(program), WireClient(program.dsn, ANSWER_S)
    seeds = (SEED, SEED if name == "same" else SEED + 7)
    for number in range(40):
        for client, seed in ((one, seeds[0]), (other, seeds[1])):
            sql = transaction(seed, number).statements[0]
            outcome = client.execute(sql)
            assert (outcome.sqlstate or "00000")[:2] not in {"XX", "08", "58"}, (sql[:500], outcome.message)
            if outcome.status != "I":
                client.execute("ROLLBACK")
    assert other.execute(KEPT_SUM).rows == KEPT_ROW
    one.close()
    other.close()


NESTED = {
    "operators": lambda n: "SELECT " + "1 + " * n + "1",
    "concatenation": lambda n: "SELECT " + "'a' || " * n + "'a'",
    "casts": lambda n: "SELECT 1" + "::int::text" * n,
    "calls": lambda n: "SELECT " + "abs(" * n + "1" + ")" * n,
    "negations": lambda n: "SELECT " + "NOT " * n + "true",
    "cases": lambda n: "SELECT " + "CASE WHEN true THEN " * n + "1" + " END" * n,
    "unions": lambda n: "SELECT 1 " + "UNION ALL SELECT 1 " * n,
    "scalar subqueries": lambda n: "SELECT " + "(SELECT " * n + "1" + ")" * n,
    "derived tables": lambda n: "SELECT * FROM " + "(SELECT * FROM " * n + "(SELECT 1) a" + ") a" * n,
    "WITH": lambda n: "WITH c0 AS (SELECT 1)" + "".join(f", c{i + 1} AS (SELECT * FROM c{i})" for i in range(n)) + f" SELECT * FROM c{n}",
    "conditions": lambda n: "SELECT 1 WHERE " + "(true OR (false AND " * n + "true" + "))" * n,
    "json brackets": lambda n: "SELECT '" + "[" * n + "]" * n + "'::json",
    "prepared": lambda n: "PREPARE deep AS SELECT " + "1 + " * n + "1",
    "views": lambda n: "CREATE OR REPLACE VIEW deep AS SELECT " + "'a' || " * n + "'a' AS x",
    "comments": lambda n: "/*" * n + " */" * n + "SELECT 1",
}  # fmt: skip
_TOO_MUCH = {None, "54001", "54000", "42601", "22P02", "57014", "54011", "42P07"}


def test_depth_ends_in_an_answer_or_54001(program: Program) -> None:
    """Every kind of nesting: answered at depths of common statements, refused at absurd ones."""
    client = WireClient(program.dsn, ANSWER_S)
    client.execute(TIMEOUT)
    for name, make in NESTED.items():
        shallow = client.execute(make(6))
        assert shallow.sqlstate is None, (name, shallow.message)
        for depth in (200, 2_000, 20_000):
            client.execute("DEALLOCATE ALL")
            outcome = client.execute(make(depth))
            assert outcome.sqlstate in _TOO_MUCH, (name, depth, outcome.sqlstate, outcome.message[:300])
    client.close()


def test_deep_values_end_in_an_error(program: Program) -> None:
    """Nesting inside a literal: arrays, documents and patterns."""
    client = WireClient(program.dsn, ANSWER_S)
    client.execute(TIMEOUT)
    for depth in (2, 7, 2_000, 200_000):
        for sql in (
            f"SELECT '{'{' * depth}1{'}' * depth}'::int[]",
            f"SELECT '{'{' * depth}'::int[]",
            f"SELECT '{'[' * depth}{']' * depth}'::jsonb",
            f"SELECT 'x' ~ '{'(' * depth}x{')' * depth}'",
        ):
            outcome = client.execute(sql)
            assert (outcome.sqlstate or "00000")[:2] not in {"XX", "08", "58"}, (sql[:100], outcome.message[:300])
    assert client.execute("SELECT '{1,2}'::int[]").rows == (("{1,2}",),)
    client.close()


def test_chains_that_programs_write_are_answered(program: Program) -> None:
    """Long, flat statements: a hundred operators, thousands of conditions, list items and rows."""
    client = WireClient(program.dsn, ANSWER_S)
    assert client.execute("SELECT " + "1 + " * 100 + "1").rows == (("101",),)
    assert client.execute("SELECT length(" + "'ab' || " * 100 + "'')").rows == (("200",),)
    assert client.execute("SELECT 1 WHERE " + "1 = 2 OR " * 3_000 + "true").rows == (("1",),)
    assert client.execute("SELECT 1 WHERE 1 IN (" + ", ".join(map(str, range(20_000))) + ")").rows == (("1",),)
    values = ", ".join(f"({n}, 'x')" for n in range(5_000))
    assert client.execute(f"SELECT count(*) FROM (VALUES {values}) v").rows == (("5000",),)
    assert client.execute("SELECT " + "1 UNION ALL SELECT " * 50 + "1").tag == "SELECT 51"
    client.close()


def test_a_megabyte(program: Program) -> None:
    """Statements of a megabyte: one literal, many rows, one comment."""
    client = WireClient(program.dsn, ANSWER_S)
    size = 1 << 20
    assert client.execute(f"SELECT length('{'é' * size}')").rows == ((str(size),),)
    assert client.execute(f"SELECT 1 /* {'x' * size} */").rows == (("1",),)
    assert client.execute(f"SELECT '{'x' * size}").sqlstate == "42601"
    client.close()
