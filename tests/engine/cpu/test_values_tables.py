"""Long VALUES lists, which the engine receives as tables, return what short lists do."""

from __future__ import annotations

import pytest

from gpudb.engine.cpu.values_tables import MIN_ROWS
from gpudb.session.session import Session
from tests.support.session_fixtures import database, session
from tests.support.sessions import run

__all__ = ["database", "session"]

COUNT = MIN_ROWS + 1
ROWS = {
    "plain": lambda n: f"({n}, 'é{n}', {n}::bigint, {n % 3 == 0}, {n} / 4.0::float8, '\\x0{n % 10}'::bytea)",
    "NULL": lambda n: f"({n}, NULL, {'NULL' if n % 2 else n})",
    "times": lambda n: f"({n}, date '2024-01-01' + {n}, timestamp '2024-01-01 00:00', timestamptz '2024-01-01 00:00+01')",
    "infinity": lambda n: f"({n}, date 'infinity' = date '{'2024-01-01' if n % 2 else 'infinity'}', {n})",
    "several types": lambda n: f"({n}, {n if n % 2 else 1.50}, '{n}')",
    "computed": lambda n: f"({n}, {n} + 1, upper('a'))",
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_rows(session: Session, name: str) -> None:
    """Many rows return what single rows do, in order."""
    made = [ROWS[name](number) for number in range(COUNT)]
    together = run(session, "VALUES " + ", ".join(made))
    halves = [run(session, "VALUES " + ", ".join(half)) for half in (made[: COUNT // 2], made[COUNT // 2 :])]
    assert together == [*halves[0], *halves[1]]
    assert run(session, f"SELECT * FROM (VALUES {', '.join(made)}) v ORDER BY 1 DESC LIMIT 2") == together[:-3:-1]


def test_two_lists_and_a_second_run(session: Session) -> None:
    """A statement with several lists whose sums run again in 128 bits."""
    ones, huge = ", ".join(["(1, 'x')"] * COUNT), ", ".join([f"({n}, 999999999999.99)" for n in range(COUNT)])
    assert run(session, f"SELECT count(*) FROM (VALUES {ones}) a, (VALUES {huge}) b") == [(COUNT**2,)]
    made = run(session, f"SELECT sum(y * y * (SELECT max(a) FROM (VALUES {ones}) v(a))) FROM (VALUES {huge}) w(x, y)")
    assert str(made[0][0]).startswith("2569999999999948")


def test_parameters(session: Session) -> None:
    """Rows of parameters."""
    listed = ", ".join(f"(${n}::int, ${n + COUNT}::text)" for n in range(1, COUNT + 1))
    prepared = session.prepare(f"SELECT sum(a), max(b), count(b) FROM (VALUES {listed}) v(a, b)")
    result = session.execute(prepared, [*range(COUNT), *(["x"] * (COUNT - 1)), None])
    assert [tuple(row.values()) for batch in result.batches for row in batch.to_pylist()] == [
        (COUNT * (COUNT - 1) // 2, "x", COUNT - 1)
    ]
