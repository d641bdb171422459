"""Lets a client in: the rule for its connection, the rule's method, and the client's session."""

from __future__ import annotations

import logging
import time
from typing import Protocol

from gpudb.catalog.roles import Role
from gpudb.errors import GpudbError, SqlError
from gpudb.server.wire import messages, replies, startup
from gpudb.server.wire.audit_log import AuditLog
from gpudb.server.wire.auth import MECHANISM, Scram, is_loopback, is_trusted, make_rejection
from gpudb.server.wire.failed_logins import FailedLogins
from gpudb.server.wire.hba.file import HbaFile
from gpudb.server.wire.hba.matching import ConnectionRequest
from gpudb.server.wire.messages import ProtocolViolation
from gpudb.server.wire.stream import DeadlinePassed, Stream
from gpudb.session.interfaces import DatabaseInterface, SessionInterface

_LOG = logging.getLogger(__name__)
_WRONG_CREDENTIALS = frozenset({"28P01", "28000"})


class LoginServices(Protocol):
    """What a login uses of the server. Without `hba` roles without a password are trusted on loopback."""

    database: DatabaseInterface
    hba: HbaFile | None
    audit_log: AuditLog | None
    failed_logins: FailedLogins


def log_in(
    stream: Stream, server: LoginServices, request: ConnectionRequest, parameters: dict[str, str]
) -> SessionInterface:
    """Authenticates a client and opens its session.

    Errors: 28P01 and 28000 for clients that are not let in, answered late after several failures of an address; 53300
    beyond a limit of connections, 3D000 for another database, 57014 after authentication_timeout.
    """
    try:
        method = _authenticate(stream, server, request)
        session = startup.open_session(server.database, parameters, request.host)
    except DeadlinePassed:
        error = SqlError.of("query_canceled", "canceling authentication due to timeout")
        _record_failure(server, request, error)
        raise error from None
    except GpudbError as error:
        _record_failure(server, request, error)
        if error.sqlstate in _WRONG_CREDENTIALS:
            stream.pause(server.failed_logins.record(request.host))
        raise
    if method != "trust":
        session.system_user = f"{method}:{request.user}"
    if server.audit_log is not None:
        server.audit_log.log_login(request, session.process_id, method)
    return session


def _record_failure(server: LoginServices, request: ConnectionRequest, error: GpudbError) -> None:
    if server.audit_log is not None:
        server.audit_log.log_failed_login(request, error)


def _authenticate(stream: Stream, server: LoginServices, request: ConnectionRequest) -> str:
    """Authenticates a client; returns the method."""
    database = server.database
    role = database.role(request.user, request.database)
    method = choose_method(server, request, role)
    if method == "scram-sha-256":
        _exchange_scram(stream, request.user, role)
    if role is None:
        raise SqlError.of("invalid_authorization_specification", f'role "{request.user}" does not exist')
    if not role.login:
        message = f'role "{request.user}" is not permitted to log in'
        raise SqlError.of("invalid_authorization_specification", message)
    stream.send(replies.AUTHENTICATION_OK)
    return method


def choose_method(server: LoginServices, request: ConnectionRequest, role: Role | None) -> str:
    """Returns the method of a connection, its certificate checked; 28000 if none is for it."""
    database = server.database
    if server.hba is None:
        is_secret = any(each.verifier for each in database.roles().values())
        # Where nothing is secret the message may be specific: no password is asked for a role that does not exist.
        is_open = is_trusted(role, request.host) or (role is None and is_loopback(request.host) and not is_secret)
        return "trust" if is_open else "scram-sha-256"
    rule = server.hba.find(request, database.is_member)
    connection = f'host "{request.host}", user "{request.user}", database "{request.database}", {request.encryption}'
    if rule is None:
        message = f"no pg_hba.conf entry for {connection}"
        raise SqlError.of("invalid_authorization_specification", message)
    if rule.method == "reject":
        message = f"pg_hba.conf rejects connection for {connection}"
        raise SqlError.of("invalid_authorization_specification", message)
    if rule.client_certificate and request.common_name is None:
        message = "connection requires a valid client certificate"
        raise SqlError.of("invalid_authorization_specification", message)
    if rule.client_certificate == "verify-full" and request.common_name != request.user:
        _LOG.warning('certificate of "%s" was given for user "%s"', request.common_name, request.user)
        if rule.method == "scram-sha-256":
            raise make_rejection(request.user)
        what = "certificate" if rule.method == "cert" else rule.method
        message = f'{what} authentication failed for user "{request.user}"'
        raise SqlError.of("invalid_authorization_specification", message)
    return rule.method


def _exchange_scram(stream: Stream, user: str, role: Role | None) -> None:
    scram = Scram(user, None if role is None or is_expired(role) else role)
    stream.send(replies.authentication_sasl([MECHANISM]))
    mechanism, first = messages.parse_sasl_initial(startup.read_password_message(stream))
    if mechanism != MECHANISM:
        raise ProtocolViolation("client selected an invalid SASL authentication mechanism", fatal=True)
    stream.send(replies.authentication_sasl_continue(scram.answer_first(first)))
    stream.send(replies.authentication_sasl_final(scram.answer_final(startup.read_password_message(stream))))


def is_expired(role: Role) -> bool:
    """Whether a role's password is no longer valid (VALID UNTIL)."""
    return role.valid_until is not None and role.valid_until < time.time() * 1_000_000
