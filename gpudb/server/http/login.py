"""Who asks over HTTP: a role with its password, or with what it was given for it before.

One login for all of HTTP: the rules of connections, password verifiers, delays and audit log are those of the wire.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from starlette.requests import Request

from gpudb.catalog.roles import Role
from gpudb.errors import GpudbError, SqlError
from gpudb.observe.recorder import StatementRecorder
from gpudb.server.wire.auth import make_mock_verifier, make_rejection
from gpudb.server.wire.hba.matching import ConnectionRequest
from gpudb.server.wire.login import LoginServices, choose_method, is_expired
from gpudb.server.wire.statement_log import StatementLog
from gpudb.session.authorization.privileges import check_connect
from gpudb.session.database import Database
from gpudb.values.scram import parse_verifier, password_matches

WRONG_CREDENTIALS = frozenset({"28P01", "28000"})

Proof = Callable[[Role | None], bool]
"""Whether what a request has proves that it is of a role; None for one that may not prove anything."""


class ListenerServices(LoginServices, Protocol):
    """What HTTP uses of the listener for PostgreSQL's clients, which has the rules of connections and the logs."""

    statement_log: StatementLog | None
    recorder: StatementRecorder | None


@dataclass(frozen=True, slots=True)
class Sources:
    """An open database, and the listener whose rules of connections count here too."""

    database: Database
    server: ListenerServices


class Refusal(Exception):
    """A login that failed; its answer has to wait for `delay` seconds."""

    def __init__(self, error: GpudbError, delay: float) -> None:
        super().__init__(error.message)
        self.error, self.delay = error, delay


def get_host(request: Request) -> str:
    """Returns the address of a request's sender; '' if it has gone."""
    return "" if request.client is None else request.client.host


def is_encrypted(request: Request) -> bool:
    """Whether a request came over TLS."""
    return request.url.scheme == "https"


def open_sources(find_sources: Callable[[], Sources | None]) -> Sources:
    """Returns the sources; 57P03 while there are none."""
    sources = find_sources()
    if sources is None:
        raise SqlError.of("cannot_connect_now", "the database is not open")
    return sources


def prove_password(user: str, password: str) -> Proof:
    """Returns the proof by a password. Its time does not tell whether there is such a role."""

    def matches(role: Role | None) -> bool:
        known = None if role is None else role.verifier
        verifier = (None if known is None else parse_verifier(known)) or make_mock_verifier(user)
        return password_matches(password, verifier)

    return matches


def log_in(sources: Sources, request: ConnectionRequest, proof: Proof) -> tuple[Role, str]:
    """Authenticates a role for a database; returns it with the method of its rule.

    Raises Refusal: 28P01, 28000 and 42501 as for PostgreSQL's clients, 3D000. Wrong passwords wait longer and longer,
    as there.
    """
    catalog = sources.database.store.catalogs().get(request.database)
    try:
        role = sources.database.role(request.user, request.database)
        method = choose_method(sources.server, request, role)
        known = _authenticate(method, request, role, proof)
        if catalog is None:
            raise SqlError.of("invalid_catalog_name", f'database "{request.database}" does not exist')
        check_connect(catalog, request.user)
    except GpudbError as error:
        if sources.server.audit_log is not None:
            sources.server.audit_log.log_failed_login(request, error)
        delay = sources.server.failed_logins.record(request.host) if error.sqlstate in WRONG_CREDENTIALS else 0.0
        raise Refusal(error, delay) from None
    return known, method


def _authenticate(method: str, request: ConnectionRequest, role: Role | None, proof: Proof) -> Role:
    if method not in ("trust", "scram-sha-256"):
        message = f"the method {method} cannot be used over HTTP"
        raise SqlError.of("invalid_authorization_specification", message)
    if method == "scram-sha-256" and not proof(None if role is None or is_expired(role) else role):
        raise make_rejection(request.user)
    if role is None:
        raise make_rejection(request.user)
    if not role.login:
        message = f'role "{role.name}" is not permitted to log in'
        raise SqlError.of("invalid_authorization_specification", message)
    return role
