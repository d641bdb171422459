"""FunctionCall messages: a function by its OID, as drivers call those over large objects.

A call is a statement `SELECT function($1, …)` in a transaction of its own, or in the open one.
"""

from __future__ import annotations

from gpudb.errors import SqlError
from gpudb.server.wire import messages, replies
from gpudb.server.wire.portals import parse_parameters
from gpudb.server.wire.recording import Recording
from gpudb.server.wire.results import Answers, ResultRows, check_format
from gpudb.session.interfaces import SessionInterface
from gpudb.session.results import CopyIn

_ROW_HEADER = 7
"""Bytes of a DataRow before the length of its first column: type, length, number of columns."""


class FunctionCalls:
    """Handles FunctionCall messages."""

    def __init__(self, session: SessionInterface, answers: Answers, recording: Recording) -> None:
        self._session, self._answers, self._recording = session, answers, recording

    def handle(self, payload: bytes) -> None:
        """Calls the function and sends its result; the transaction ends as after a Query. 42883, 08P01."""
        message = messages.parse_function_call(payload)
        check_format(message.result_format)
        sql, oids = self._find(message)
        self._recording.start(sql, runs=True)
        prepared = self._session.prepare(sql, oids)
        result = self._session.execute(prepared, parse_parameters(message, prepared, self._answers.zone))
        assert not isinstance(result, CopyIn)
        rows, pieces = ResultRows(result, (message.result_format,)), list[bytes]()
        try:
            rows.send(lambda piece: pieces.append(bytes(piece)), 1, self._answers.zone, None)
        finally:
            rows.close()
        self._session.sync()
        self._answers.send_notices()
        value = b"".join(pieces)[_ROW_HEADER:]
        self._answers.send(replies.build_message(b"V", value) if value else replies.FUNCTION_CALL_NULL)
        self._recording.end(rows.count())

    def _find(self, message: messages.FunctionCall) -> tuple[str, tuple[int, ...]]:
        """Returns the statement that calls the function, and the OIDs of its parameters' types."""
        found = self._session.find_function(message.oid)
        if found is None:
            raise SqlError.of("undefined_function", f"function with OID {message.oid} does not exist")
        name, oids = found
        if len(message.values) != len(oids):
            text = f"function call message contains {len(message.values)} arguments but function requires {len(oids)}"
            raise messages.ProtocolViolation(text)
        return f"SELECT {name}({', '.join(f'${number}' for number in range(1, len(oids) + 1))})", oids
