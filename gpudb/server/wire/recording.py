"""Timing of a client's statements, and their records: for the recorder, for the log, and for slow statements."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from gpudb.observe.recorder import StatementRecorder
from gpudb.observe.statement import RepeatedStatement, Run
from gpudb.server.wire.results import NOTHING_SENT, Sent
from gpudb.session.interfaces import SessionInterface

CONNECTION_LOST = "08006"
_SUCCESS = "00000"


@dataclass(frozen=True, slots=True)
class ExecutedStatement:
    """A statement that has ended, for the log. `seconds` are from its first message to its last row."""

    sql: str
    seconds: float
    rows: int
    sqlstate: str


class Recording:
    """Records of a client's statements: `start` begins the timing of one, `end` ends it.

    `log_statement` is called with every text that has ended, `recorder` gets every statement.
    """

    def __init__(
        self,
        session: SessionInterface,
        log_statement: Callable[[ExecutedStatement], None] | None,
        recorder: StatementRecorder | None,
    ) -> None:
        self._session = session
        self._log_statement = log_statement
        self._record = None if recorder is None else recorder.record
        self._repeats_below = 0.0 if recorder is None else recorder.repeats_below
        self._repeated: RepeatedStatement | None = None
        self._last_recorded = ""
        self._has_parts, self._part_started = False, 0.0
        self._sql, self._started = "", 0.0
        self._is_running, self._suspended_rows = False, 0

    def start(self, sql: str, *, runs: bool = False) -> None:
        """Starts timing a statement, which `runs` from here on.

        One that was suspended has ended, as far as the log is concerned.
        """
        if self._is_running:
            self.end(Sent(self._suspended_rows))
        self._sql, self._started, self._is_running, self._suspended_rows = sql, time.monotonic(), runs, 0

    def suspend(self, rows: int) -> None:
        """Notes the rows that a portal has sent so far."""
        self._suspended_rows = rows

    def end(self, sent: Sent = NOTHING_SENT, sqlstate: str = _SUCCESS) -> None:
        """Ends the timing of a statement."""
        sql = self._sql
        if sql:
            seconds = (ended := time.monotonic()) - self._started
            run = ended, seconds, sent.encode_seconds, sent.rows, sent.size
            repeated = self._repeated
            if (
                repeated is not None
                and seconds < repeated.below
                and sql == repeated.sql
                and not self._session.measures
                and sqlstate == _SUCCESS
            ):
                repeated.append(run)
            elif self._record is not None:
                self._record_other(sql, sqlstate, run)
            if self._log_statement is not None:
                self._log_statement(ExecutedStatement(sql, seconds, sent.rows, sqlstate))
        self._sql, self._is_running = "", False

    def end_several(self, count: int) -> None:
        """Ends the timing of a statement that ran several times at once, each for one row."""
        sql, each = self._sql, (time.monotonic() - self._started) / count
        for _ in range(count):
            self._sql, self._started = sql, time.monotonic() - each
            self.end(Sent(1))

    def _record_other(self, sql: str, sqlstate: str, run: Run) -> None:
        """Records a statement that is not a repeated one yet: it is from its second run in a row on."""
        assert self._record is not None
        session = self._session
        place = session.database_oid, session.process_id
        role, slow_after = session.identity.acting_role, session.running.slow_after
        is_successful = sqlstate == _SUCCESS
        if self._has_parts:
            self._end_parts(sqlstate)
            self._repeated, self._last_recorded = None, ""
        elif sql == self._last_recorded and is_successful and not session.measures and run[1] < self._repeats_below:
            # Between its runs is no other statement that would change the role or a setting.
            self._repeated = RepeatedStatement(sql, role, *place, min(self._repeats_below, slow_after))
            self._repeated.append(run)
            self._record(self._repeated)
        else:
            self._record((sql, role, sqlstate, *place, *run, session.measures))
            session.measures, self._repeated = {}, None
            self._last_recorded = sql if is_successful else ""
        if run[1] >= slow_after and is_successful:
            session.log_slow(sql, run[1])

    def end_part(self, sent: Sent, sqlstate: str = _SUCCESS) -> None:
        """Records one statement of a text of several; of any other text nothing."""
        if self._record is None or not self._session.running.part:
            return
        if not self._has_parts:
            self._has_parts, self._part_started = True, self._started
        session, ended = self._session, time.monotonic()
        place = session.database_oid, session.process_id
        figures = ended, ended - self._part_started, sent.encode_seconds, sent.rows, sent.size
        self._record((session.running.part, session.identity.acting_role, sqlstate, *place, *figures, session.measures))
        session.measures, self._part_started = {}, ended

    def _end_parts(self, sqlstate: str) -> None:
        """Ends a text of several statements, which are recorded each; one that failed is recorded now."""
        if sqlstate != _SUCCESS:
            self.end_part(NOTHING_SENT, sqlstate)
        self._has_parts = False

    def close(self) -> None:
        """Ends a statement that still runs when the client is gone."""
        if self._is_running:
            rows = self._suspended_rows
            self.end(Sent(rows), _SUCCESS if rows else CONNECTION_LOST)
