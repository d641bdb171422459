"""Runs texts of statements in a session, on the calling thread, and puts frames of their results into a channel."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from types import MappingProxyType

import pyarrow as pa

from gpudb.engine.protocol import Measures
from gpudb.errors import GpudbError, QueryCanceled, SqlError
from gpudb.server.http.console.channel import Channel, ClientGone
from gpudb.server.http.console.columns import END_OF_STREAM, GRID, Encoder
from gpudb.server.http.console.frames import (
    describe_columns,
    describe_error,
    describe_notice,
    frame_arrow,
    frame_event,
)
from gpudb.server.http.console.kept_results import Collector, KeptResult
from gpudb.server.wire.client_errors import to_client_error
from gpudb.server.wire.recording import Recording
from gpudb.server.wire.results import NOTHING_SENT, Sent, count_changed
from gpudb.session.interfaces import SessionInterface
from gpudb.session.results import CopyIn, CopyOut, Result
from gpudb.storage.copy.pipeline import map_in_order
from gpudb.types import widen
from gpudb.values import parse_text

STATUSES = {"I": "idle", "T": "in", "E": "failed"}
"""What the page calls a session's transaction status."""

_NOTHING: Mapping[str, object] = MappingProxyType({})
_ROW_TAGS = frozenset({"SELECT", "FETCH"})
_CHANGE_TAGS = frozenset({"INSERT 0", "UPDATE", "DELETE", "MERGE"})


@dataclass(frozen=True, slots=True)
class Text:
    """A text of statements to run: `parameters` are texts, None for NULL; `rows` is the most rows of each result."""

    sql: str
    parameters: tuple[str | None, ...] = ()
    form: str = GRID
    rows: int | None = None


class Run:
    """One run of a text. `check` raises if the client has cancelled it.

    `keep` keeps a result whose rows were all sent, and returns its token.
    """

    def __init__(
        self,
        session: SessionInterface,
        recording: Recording,
        text: Text,
        channel: Channel,
        check: Callable[[], None],
        keep: Callable[[KeptResult], str] | None = None,
    ) -> None:
        self._session, self._recording, self._text, self._channel = session, recording, text, channel
        self._check, self._keep = check, keep
        self._started = 0.0
        self._number = 0

    def run(self) -> None:
        """Runs the text; errors of its statements are events, other exceptions do not come out of it either."""
        session = self._session
        session.measures = {}
        self._started = perf_counter()
        self._recording.start(self._text.sql, runs=True)
        rows = size = 0
        try:
            with closing(self._start()) as results:
                for result in results:
                    self._check()
                    sent = self._send_result(result)
                    rows, size = rows + sent.rows, size + sent.size
                    self._recording.end_part(sent)
                    self._number += 1
                    self._started = perf_counter()
            self._recording.end(Sent(rows, size))
        except BaseException as error:
            self._fail(error)

    def _start(self) -> Generator[Result]:
        if not self._text.parameters:
            yield from self._session.run(self._text.sql)
            return
        session, given = self._session, self._text.parameters
        prepared = session.prepare(self._text.sql)
        if len(given) != len(prepared.parameters):
            message = f"{len(given)} parameters were given, and the statement has {len(prepared.parameters)}"
            raise SqlError.of("protocol_violation", message)
        zone = session.reports().get("TimeZone", "UTC")
        values = [
            None if value is None else parse_text(widen(type_), value, zone)
            for type_, value in zip(prepared.parameters, given, strict=True)
        ]
        result = session.execute(prepared, values)
        try:
            if result.columns is None and not isinstance(result, CopyIn | CopyOut):
                session.sync()
            yield result
        finally:
            result.close()
        session.sync()

    def _fail(self, error: BaseException) -> None:
        """Ends the text after an error, which the client is told unless it has gone."""
        gone = isinstance(error, ClientGone)
        found = QueryCanceled("canceling statement due to user request") if gone else to_client_error(error)
        session = self._session
        session.fail()
        self._recording.end(NOTHING_SENT, found.sqlstate)
        try:
            session.sync()
        except GpudbError:
            session.fail()
            session.sync()
        if gone:
            return
        notices = self._take_notices()
        self._channel.put_now(
            frame_event({"event": "error", **describe_error(found), "statement": self._number, "notices": notices})
        )

    def _take_notices(self) -> list[dict[str, object]]:
        return [describe_notice(each) for each in self._session.take_notices()]

    # ---- one statement

    def _send_result(self, result: Result) -> Sent:
        if isinstance(result, CopyIn):
            result.abort("the console sends no data")
            hint = "Use COPY … FROM with a file of the server, or psql."
            raise SqlError.of("feature_not_supported", "COPY FROM STDIN is not supported in the console", hint=hint)
        if isinstance(result, CopyOut):
            hint = "Download the rows of a query instead."
            raise SqlError.of("feature_not_supported", "COPY TO STDOUT is not supported in the console", hint=hint)
        if result.columns is None:
            changed = count_changed(result.tag)
            self._complete(result.tag, changed)
            return Sent(changed)
        columns, zone = describe_columns(result.columns), self._session.reports().get("TimeZone", "UTC")
        encoder = Encoder(result.columns, self._text.form, zone)
        event = frame_event({"event": "result", "statement": self._number, "columns": columns})
        head = encoder.head
        self._channel.put(event, frame_arrow(len(head)), head)
        collector = None if self._keep is None else Collector()
        rows = _Rows(result, self._text.rows, collector)
        size, first_row = 0, None
        slices = (part for batch in rows for part in encoder.split(batch))
        with closing(map_in_order(partial(encoder.encode, part) for part in slices)) as pieces:
            for piece in pieces:
                if first_row is None:
                    first_row = self._measure()
                self._channel.put(frame_arrow(len(piece)), piece)
                size += len(piece)
                self._check()
        self._channel.put(frame_arrow(len(END_OF_STREAM)), END_OF_STREAM)
        more: dict[str, object] = {"truncated": True} if rows.truncated else {}
        if self._keep is not None and collector is not None and not rows.truncated:
            kept = collector.finish(result.columns, zone)
            more = {} if kept is None else {"kept": self._keep(kept)}
        self._complete(rows.tag, rows.sent, first_row, more)
        return Sent(rows.sent, size)

    def _measure(self) -> float:
        return round(1000 * (perf_counter() - self._started), 3)

    def _complete(
        self, tag: str, rows: int, first_row: float | None = None, more: Mapping[str, object] = _NOTHING
    ) -> None:
        engine, size = describe_work(self._session.measures)
        event: dict[str, object] = {
            "event": "complete",
            "statement": self._number,
            "tag": tag,
            "rows": rows,
            "ms": self._measure(),
            "first_row_ms": first_row,
            "engine": engine,
            "bytes": size,
            "notices": self._take_notices(),
            **more,
        }
        self._channel.put(frame_event(event))


class _Rows:
    """The batches of a result up to a number of rows; a change with RETURNING is read to its end all the same.

    Those that are sent go to the collector, too.
    """

    def __init__(self, result: Result, limit: int | None, collector: Collector | None = None) -> None:
        self._result, self._limit, self._collector = result, limit, collector
        self.sent = self._total = 0
        self.truncated = False

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in self._result.batches:
            self._total += batch.num_rows
            left = batch.num_rows if self._limit is None else self._limit - self.sent
            if batch.num_rows > left:
                self.truncated = True
                batch = batch.slice(0, left)
            if batch.num_rows:
                self.sent += batch.num_rows
                if self._collector is not None:
                    self._collector.add(batch)
                yield batch
            if self.truncated and self._result.tag not in _CHANGE_TAGS:
                return

    @property
    def tag(self) -> str:
        """The command tag: the rows that were sent, or all that a change has changed."""
        tag = self._result.tag
        if tag in _ROW_TAGS:
            return f"{tag} {self.sent}"
        return f"{tag} {self._total}" if tag in _CHANGE_TAGS else tag


def describe_work(measures: Measures) -> tuple[str | None, int | None]:
    """Returns which engine ran a statement, and the bytes that it read of columns; None for what is not known."""
    engine, fast = measures.get("engine"), measures.get("fast_path_bytes")
    kernels = [kernel for stage in measures.get("stages", ()) for kernel in stage.kernels if not kernel.declined]
    reads = [read for stage in measures.get("stages", ()) for read in stage.reads]
    size = sum(kernel.bytes for kernel in kernels) + sum(read.bytes for read in reads) + (fast or 0)
    return "fused" if kernels or fast is not None else engine, size or None
