"""Sending of results: rows, all or up to a limit, COPY data, a command tag, and what goes with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import chain
from time import perf_counter
from typing import NamedTuple

import pyarrow as pa

from gpudb.errors import GpudbError
from gpudb.server.wire import messages, replies
from gpudb.server.wire.encode import encode_piece, frame_copy_data, is_short, make_encoders
from gpudb.session.interfaces import SessionInterface
from gpudb.session.results import CopyOut, Result
from gpudb.storage.copy.pipeline import map_in_order
from gpudb.values.text_columns import Resolve

Send = Callable[[bytes | memoryview], None]

_MAX_PIECE = messages.LARGE_MESSAGE // 2
_COUNTED_TAGS = frozenset({"SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "FETCH", "MOVE"})


class Sent(NamedTuple):
    """What was sent of a result: its rows, or those that it changed; their bytes; and the time that encoding took."""

    rows: int = 0
    size: int = 0
    encode_seconds: float = 0.0


NOTHING_SENT = Sent()


class ResultRows:
    """The rows of a result that are sent to a client. Must be closed."""

    def __init__(self, result: Result, formats: Sequence[int]) -> None:
        columns = result.columns or ()
        self._result = result
        self._types = [column.type for column in columns]
        self._formats = formats
        self._remainder: pa.RecordBatch | None = None
        self._total = 0
        self._closed = False
        self._is_timed, self._read_seconds = False, 0.0
        self.sent = 0
        self.bytes = 0
        self.encode_seconds = 0.0
        """Seconds in which rows were encoded and sent, without those in which the engine was waited for."""
        self.ended = False

    def send(self, send: Send, limit: int, zone: str, resolve: Resolve | None) -> bool:
        """Sends up to `limit` rows (0: all). Returns True if the result ended; reaching the limit leaves that open."""
        self.sent = 0
        batches = self._iterate_batches(limit)
        try:
            first = next(batches, None)
            if first is not None and is_short(first):
                started = perf_counter()
                piece = encode_piece(first, self._types, self._formats, zone, resolve)
                send(piece)
                self.encode_seconds += perf_counter() - started
                self.bytes += len(piece)
                first = next(batches, None)
            if first is not None:
                started, waited, self._is_timed = perf_counter(), self._read_seconds, True
                self._send_many(send, chain((first,), batches), zone, resolve)
                self.encode_seconds += perf_counter() - started - (self._read_seconds - waited)
        except pa.ArrowInvalid as error:
            # Only a damaged file contains values that its own type does not allow.
            message = f"a value is none of its column's type: {error}"
            raise GpudbError(message, condition="data_corrupted") from error
        return not limit or self.sent < limit

    def _send_many(self, send: Send, batches: Iterable[pa.RecordBatch], zone: str, resolve: Resolve | None) -> None:
        """Sends pieces while the following ones are computed and encoded."""
        encoded = map_in_order(
            task for batch in batches for task in make_encoders(batch, self._types, self._formats, zone, resolve)
        )
        with closing(encoded):
            for piece in encoded:
                send(piece)
                self.bytes += len(piece)

    def _iterate_batches(self, limit: int) -> Iterator[pa.RecordBatch]:
        """Yields the remaining batches up to a number of rows (0: all); rows beyond them remain."""
        while not self.ended and (not limit or self.sent < limit):
            batch = self._read_batch()
            if batch is None:
                return
            if limit and self.sent + batch.num_rows > limit:
                taken = limit - self.sent
                batch, self._remainder = batch.slice(0, taken), batch.slice(taken)
            self.sent += batch.num_rows
            self._total += batch.num_rows
            yield batch

    def _read_batch(self) -> pa.RecordBatch | None:
        batch, self._remainder = self._remainder, None
        if batch is None and self._is_timed:
            started = perf_counter()
            batch = next(self._result.batches, None)
            self._read_seconds += perf_counter() - started
        elif batch is None:
            batch = next(self._result.batches, None)
        if batch is None:
            self.ended = True
        return batch

    def get_tag(self) -> str:
        """Returns the command tag of the rows sent last; for a change with RETURNING it counts all its rows."""
        tag = self._result.tag
        word = tag.partition(" ")[0]
        if word not in _COUNTED_TAGS:
            return tag
        return f"{tag} {self.sent if word in ('SELECT', 'FETCH') else self._total}"

    def count(self) -> Sent:
        """Returns what was sent last."""
        return Sent(self.sent, self.bytes, self.encode_seconds)

    def close(self) -> None:
        """Releases the statement's resources."""
        self.ended = True
        self._remainder = None
        if not self._closed:
            self._closed = True
            self._result.close()


class Answers:
    """What a client is sent beside errors: results, notices, changed settings, notifications, ReadyForQuery.

    `send` queues messages, `flush` sends them. `zone` is the time zone of the next statement.
    """

    def __init__(self, session: SessionInterface, send: Send, flush: Callable[[], None]) -> None:
        self._session, self.send, self.flush = session, send, flush
        self.zone = session.reports().get("TimeZone", "UTC")
        self._inbox = session.mailbox.inbox
        self._reports: dict[str, str] = {}

    def send_result(self, result: Result) -> Sent:
        """Sends a statement's whole result."""
        if result.columns is None and not isinstance(result, CopyOut):
            self.send_complete(result.tag)
            return Sent(count_changed(result.tag))
        formats = (0,) * len(result.columns or ())
        rows = ResultRows(result, formats)
        try:
            if isinstance(result, CopyOut):
                tag = _send_copy(result, self.send)
                rows.sent = count_changed(tag)
            else:
                self.send(replies.row_description(result.columns or (), formats))
                rows.send(self.send, 0, self.zone, None)
                tag = rows.get_tag()
        finally:
            rows.close()
        self.send_complete(tag)
        return rows.count()

    def send_complete(self, tag: str) -> None:
        """Sends the end of a statement, after its notices."""
        self._take_reports()
        self.send_notices()
        self.send(replies.command_complete(tag) if tag else replies.EMPTY_QUERY)

    def send_notices(self) -> None:
        """Sends the session's notices."""
        for notice in self._session.take_notices():
            self.send(replies.notice_response(notice))

    def send_ready(self) -> None:
        """Sends ReadyForQuery."""
        self._take_reports()
        if self._reports:
            reports, self._reports = self._reports, {}
            for name, value in reports.items():
                self.send(replies.parameter_status(name, value))
        self.send_notices()
        status = self._session.status
        if self._inbox and status == "I":
            self._send_notifications()
        self.send(replies.ready_for_query(status))
        self.flush()

    def deliver_notifications(self) -> None:
        """Sends what has arrived while the client is idle."""
        self._send_notifications()
        self.flush()

    def _send_notifications(self) -> None:
        inbox = self._inbox
        while inbox:
            self.send(replies.notification_response(inbox.popleft()))

    def _take_reports(self) -> None:
        """Records changed settings. A new time zone applies to the next statement, although it is reported later."""
        changed = self._session.take_reports()
        if changed:
            self._reports.update(changed)
            self.zone = self._reports.get("TimeZone", self.zone)


def count_changed(tag: str) -> int:
    """Returns the rows that a command tag counts: `INSERT 0 5` are 5; none in `CREATE TABLE`."""
    number = tag.rpartition(" ")[2]
    return int(number) if number.isdigit() else 0


def _send_copy(result: CopyOut, send: Send) -> str:
    """Sends COPY TO's data; returns the tag."""
    send(replies.copy_out_response(result.binary, result.width))
    for chunk in result.chunks:
        message = None if isinstance(chunk, bytes) else frame_copy_data(chunk)
        if message is not None:
            send(message)
            continue
        for payload in [chunk] if isinstance(chunk, bytes) else chunk.to_pylist():
            for start in range(0, len(payload), _MAX_PIECE):
                piece = memoryview(payload)[start : start + _MAX_PIECE]
                send(replies.copy_data_header(len(piece)))
                send(piece)
    send(replies.COPY_DONE)
    return result.tag


def expand_formats(requested: Sequence[int], columns: int) -> tuple[int, ...]:
    """Returns one format a column from none, one or all; 08P01 for another count, 22023 for unknown formats."""
    for format_code in requested:
        check_format(format_code)
    if len(requested) <= 1:
        return tuple(requested or (0,)) * columns
    if len(requested) != columns:
        text = f"bind message has {len(requested)} result formats but query has {columns} columns"
        raise messages.ProtocolViolation(text)
    return tuple(requested)


def check_format(format_code: int) -> None:
    """Raises 22023 unless the format is text (0) or binary (1)."""
    if format_code not in (0, 1):
        raise GpudbError(f"unsupported format code: {format_code}", condition="invalid_parameter_value")
