"""Executions of one prepared INSERT that a client sends one after the other without waiting: they run as one statement.

What was bound is held until another message comes, or none is there yet. The answers are those that each execution has
by itself: if the rows together fail, each runs by itself up to the one that fails.
"""

from __future__ import annotations

from gpudb.server.wire import replies
from gpudb.server.wire.recording import Recording
from gpudb.server.wire.results import Answers, Sent
from gpudb.session.interfaces import SessionInterface
from gpudb.session.results import Prepared

MAX_ROWS = 1000
"""Executions that run together at most."""
_COMPLETE = replies.command_complete("INSERT 0 1")


class ExecutionBatch:
    """Executions of `prepared` that have not run yet."""

    def __init__(self, session: SessionInterface, answers: Answers, recording: Recording, prepared: Prepared) -> None:
        self.prepared = prepared
        self._session, self._answers, self._recording = session, answers, recording
        self._rows: list[tuple[object, ...]] = []
        self._before: list[bytes] = []
        self._waiting = b""

    @property
    def is_full(self) -> bool:
        """Whether it has to run."""
        return len(self._rows) >= MAX_ROWS

    def answer(self, reply: bytes) -> None:
        """Adds what the client is sent once the executions before have run: answers of Bind and Describe."""
        self._waiting += reply

    def add(self, parameters: tuple[object, ...]) -> None:
        """Adds an execution with values of the parameters."""
        self._rows.append(parameters)
        self._before.append(self._waiting)
        self._waiting = b""

    def run(self) -> None:
        """Runs the executions and sends their answers; raises the error of the first that fails, after those before."""
        rows = self._rows
        if len(rows) > 1:
            self._recording.start(self.prepared.sql, runs=True)
            if self._session.execute_together(self.prepared, rows):
                self._recording.end_several(len(rows))
                self._answers.send(_COMPLETE.join([*self._before, b""]))
                self._answers.send_notices()
                self._answers.send(self._waiting)
                return
        for before, parameters in zip(self._before, rows, strict=True):
            self._answers.send(before)
            self._recording.start(self.prepared.sql, runs=True)
            sent: Sent = self._answers.send_result(self._session.execute(self.prepared, parameters))
            self._recording.end(sent)
        self._answers.send(self._waiting)
