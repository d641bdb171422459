"""Runs generated statements on both servers, each in its time zone, and collects differing outcomes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tests.support.generated.statement import Made
from tests.support.oracle.compare import differences
from tests.support.oracle.wire import Outcome, WireClient

ANSWER_S = 30.0


@dataclass(frozen=True, slots=True)
class Difference:
    """A statement with differing outcomes."""

    made: Made
    oracle: Outcome
    gpudb: Outcome
    lines: tuple[str, ...]

    def __str__(self) -> str:
        return f"[{self.made.kind}, {self.made.zone}] {self.made.sql}\n    " + "\n    ".join(self.lines)


class Side:
    """A session that sets each statement's time zone and reconnects when lost."""

    def __init__(self, dsn: str, setup: tuple[str, ...] = ()) -> None:
        self._dsn, self._setup = dsn, setup
        self._open()

    def _open(self) -> None:
        self._client = WireClient(self._dsn, ANSWER_S)
        self._zone = ""
        for sql in self._setup:
            outcome = self._client.execute(sql)
            assert not outcome.failed, f"{sql}\n{outcome.sqlstate} {outcome.message}"

    def run(self, made: Made) -> Outcome:
        """Returns one statement's outcome."""
        if made.zone != self._zone:
            self._client.execute(f"SET TimeZone = '{made.zone}'")
            self._zone = made.zone
        outcome = self._client.execute(made.sql)
        if not self._client.alive:
            self.close()
            self._open()
        return outcome

    def close(self) -> None:
        """Closes the session."""
        self._client.close()


def compared(oracle: Side, gpudb: Side, statements: Iterable[Made]) -> Iterator[Difference | None]:
    """Yields None for each statement with equal outcomes: rows, names, types with modifiers, or SQLSTATE."""
    for made in statements:
        expected, actual = oracle.run(made), gpudb.run(made)
        lines = differences(expected, actual, made.ordered)
        yield Difference(made, expected, actual, tuple(lines)) if lines else None
