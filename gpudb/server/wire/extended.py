"""The extended protocol: Parse, Bind, Describe, Execute and Close, over a client's prepared statements and portals."""

from __future__ import annotations

from collections.abc import Callable

from gpudb.errors import SqlError
from gpudb.server.wire import messages, replies
from gpudb.server.wire.batches import ExecutionBatch
from gpudb.server.wire.portals import Portal, Portals, read_values
from gpudb.server.wire.recording import Recording
from gpudb.server.wire.results import Answers, ResultRows
from gpudb.session.interfaces import SessionInterface
from gpudb.session.results import CopyIn, CopyOut, Prepared


class ExtendedProtocol:
    """Handles the messages between two Syncs; `begin_copy` begins a COPY FROM STDIN."""

    def __init__(
        self,
        session: SessionInterface,
        answers: Answers,
        recording: Recording,
        begin_copy: Callable[[CopyIn], None],
    ) -> None:
        self._session, self._answers, self._recording, self._begin_copy = session, answers, recording, begin_copy
        self._send = answers.send
        self._unnamed: Prepared | None = None
        self._portals = Portals()
        self.batch: ExecutionBatch | None = None
        """Executions that have not run yet."""

    @property
    def handlers(self) -> dict[int, Callable[[bytes], None]]:
        """The methods that handle messages, by their type."""
        return {
            ord("P"): self._handle_parse,
            ord("B"): self._handle_bind,
            ord("D"): self._handle_describe,
            ord("E"): self._handle_execute,
            ord("C"): self._handle_close,
        }

    def drop_unnamed(self) -> None:
        """Drops the unnamed prepared statement and the unnamed portal, as a Query does."""
        self._unnamed = None
        self._portals.drop("")

    def drop_portals(self) -> None:
        """Drops all portals, at the end of their transaction."""
        self._portals.clear()

    def _handle_parse(self, payload: bytes) -> None:
        message = messages.parse_parse(payload)
        self._recording.start(message.sql)
        if not message.name:
            self._unnamed = None
        prepared = self._session.prepare(message.sql, message.oids)
        if message.name:
            self._session.prepared.add(message.name, prepared)
        else:
            self._unnamed = prepared
        self._send(replies.PARSE_COMPLETE)

    def _get_prepared(self, name: str) -> Prepared:
        if name:
            return self._session.prepared[name]
        if self._unnamed is None:
            text = "unnamed prepared statement does not exist"
            raise SqlError.of("invalid_sql_statement_name", text)
        return self._unnamed

    def _handle_bind(self, payload: bytes) -> None:
        message = messages.parse_bind(payload)
        prepared = self._get_prepared(message.statement)
        if self.batch is None:
            self._recording.start(prepared.sql)
        elif self.batch.prepared is not prepared:
            self.run_batch()
            self._recording.start(prepared.sql)
        if prepared.given_oids is not None:
            self.run_batch()
            prepared = self._session.bind_values(prepared, read_values(message, prepared, self._answers.zone))
        self._portals.bind(message, prepared, self._answers.zone)
        self._answer(replies.BIND_COMPLETE)

    def _answer(self, reply: bytes) -> None:
        """Sends an answer, after those of the executions that have not run yet."""
        if self.batch is None:
            self._send(reply)
        else:
            self.batch.answer(reply)

    def run_batch(self) -> None:
        """Runs the executions that have not run yet, if there are any."""
        batch, self.batch = self.batch, None
        if batch is not None:
            batch.run()

    def _handle_describe(self, payload: bytes) -> None:
        target = messages.parse_target(payload, "DESCRIBE")
        if target.kind == "S" or target.name:
            self.run_batch()
        if target.kind == "S":
            prepared = self._get_prepared(target.name)
            if prepared.given_oids is not None:
                message = "the columns of this statement are known once its parameters have values"
                raise SqlError.of("feature_not_supported", message, hint="Describe the portal after Bind.")
            self._send(replies.parameter_description(prepared.parameters))
            formats: tuple[int, ...] = (0,) * len(prepared.columns or ())
        elif target.name and target.name not in self._portals:
            # a cursor made by DECLARE: clients describe it like a portal
            name = target.name.replace('"', '""')
            prepared = self._session.prepare(f'FETCH NEXT FROM "{name}"')
            formats = (0,) * len(prepared.columns or ())
        else:
            portal = self._portals.find(target.name)
            prepared, formats = portal.prepared, portal.formats
        self._answer(prepared.descriptions.get(formats) or _describe(prepared, formats))

    def _handle_execute(self, payload: bytes) -> None:
        message = messages.parse_execute(payload)
        portal = self._portals.find(message.portal)
        if portal.prepared.repeats and not portal.done:
            self._hold(portal)
            return
        self.run_batch()
        if portal.done and portal.prepared.columns is None:
            raise SqlError.of("object_not_in_prerequisite_state", f'portal "{message.portal}" cannot be run')
        if portal.rows is None:
            self._recording.start(portal.prepared.sql, runs=True)
            result = self._session.execute(portal.prepared, portal.parameters)
            portal.done = True
            if isinstance(result, CopyIn):
                self._begin_copy(result)
                return
            if isinstance(result, CopyOut) or result.columns is None:
                self._recording.end(self._answers.send_result(result))
                return
            portal.rows = ResultRows(result, portal.formats)
        if portal.rows.send(self._send, message.limit, self._answers.zone, None):
            portal.rows.close()
            self._answers.send_complete(portal.rows.get_tag())
            self._recording.end(portal.rows.count())
        else:
            self._recording.suspend(portal.rows.sent)
            self._send(replies.PORTAL_SUSPENDED)

    def _hold(self, portal: Portal) -> None:
        """Lets an execution wait for others that may follow."""
        if self.batch is not None and (self.batch.prepared is not portal.prepared or self.batch.is_full):
            self.run_batch()
        if self.batch is None:
            self.batch = ExecutionBatch(self._session, self._answers, self._recording, portal.prepared)
        portal.done = True
        self.batch.add(portal.parameters)

    def _handle_close(self, payload: bytes) -> None:
        target = messages.parse_target(payload, "CLOSE")
        if target.kind == "P":
            self._portals.drop(target.name)
        elif target.name:
            self._session.prepared.pop(target.name, None)
        else:
            self._unnamed = None
        self._send(replies.CLOSE_COMPLETE)


def _describe(prepared: Prepared, formats: tuple[int, ...]) -> bytes:
    """Returns the description of a prepared statement's rows in these formats, which it keeps."""
    columns = prepared.columns
    description = replies.NO_DATA if columns is None else replies.row_description(columns, formats)
    prepared.descriptions[formats] = description
    return description
