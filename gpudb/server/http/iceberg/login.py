"""Who asks the Iceberg REST catalog: a role with its password, or with a token that was made for both."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass

from starlette.requests import Request

from gpudb.catalog.model import Catalog
from gpudb.catalog.roles import Role
from gpudb.errors import GpudbError, SqlError
from gpudb.server.http.iceberg.tokens import is_valid, make_token, read_user
from gpudb.server.wire.auth import make_mock_verifier, make_rejection
from gpudb.server.wire.hba.matching import ConnectionRequest
from gpudb.server.wire.login import LoginServices, choose_method, is_expired
from gpudb.session.authorization.privileges import check_connect
from gpudb.session.database import Database
from gpudb.values.scram import parse_verifier, password_matches


@dataclass(frozen=True, slots=True)
class Sources:
    """An open database, and the listener whose rules of connections count here too."""

    database: Database
    server: LoginServices


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a request says of its sender: a role with a password, or a token."""

    user: str
    password: str | None = None
    token: str | None = None


class Refusal(Exception):
    """A login that failed; its answer has to wait for `delay` seconds."""

    def __init__(self, error: GpudbError, delay: float) -> None:
        super().__init__(error.message)
        self.error, self.delay = error, delay


def read_credentials(request: Request) -> Credentials:
    """Returns the credentials of a request's header; 28000 without any that can be read."""
    scheme, _, value = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "basic":
        try:
            user, mark, password = base64.b64decode(value, validate=True).decode().partition(":")
        except (ValueError, binascii.Error):
            mark = ""
        if mark:
            return Credentials(user, password)
    if scheme.lower() == "bearer" and (named := read_user(value)) is not None:
        return Credentials(named, token=value)
    raise SqlError.of(
        "invalid_authorization_specification", "a role's password, or a token of /v1/oauth/tokens, is needed"
    )


def log_in(sources: Sources, credentials: Credentials, host: str, name: str) -> Catalog:
    """Returns a database for its role.

    Raises Refusal: 28P01, 28000 and 42501 as for PostgreSQL's clients, 3D000. Wrong passwords wait longer and longer,
    as there.
    """
    catalog = sources.database.store.catalogs().get(name)
    request = ConnectionRequest(credentials.user, name, host)
    try:
        role = sources.database.role(credentials.user, name)
        _authenticate(sources, request, role, credentials)
        if catalog is None:
            raise SqlError.of("invalid_catalog_name", f'database "{name}" does not exist')
        check_connect(catalog, credentials.user)
    except GpudbError as error:
        if sources.server.audit_log is not None:
            sources.server.audit_log.log_failed_login(request, error)
        wrong = error.sqlstate in ("28P01", "28000")
        raise Refusal(error, sources.server.failed_logins.record(host) if wrong else 0.0) from None
    return catalog


def exchange_password(sources: Sources, credentials: Credentials, host: str, name: str) -> str:
    """Returns a token for a role with its password; raises what `log_in` does."""
    role = log_in(sources, credentials, host, name).roles[credentials.user]
    return make_token(role.name, role.verifier)


def _authenticate(sources: Sources, request: ConnectionRequest, role: Role | None, credentials: Credentials) -> None:
    method = choose_method(sources.server, request, role)
    if method not in ("trust", "scram-sha-256"):
        message = f"the method {method} cannot be used over HTTP"
        raise SqlError.of("invalid_authorization_specification", message)
    if method == "scram-sha-256" and not _matches(role, credentials):
        raise make_rejection(credentials.user)
    if role is None:
        raise make_rejection(credentials.user)
    if not role.login:
        message = f'role "{role.name}" is not permitted to log in'
        raise SqlError.of("invalid_authorization_specification", message)


def _matches(role: Role | None, credentials: Credentials) -> bool:
    known = None if role is None or is_expired(role) else role.verifier
    if credentials.token is not None:
        return known is not None and is_valid(credentials.token, known)
    # The time of the answer does not tell whether there is such a role
    verifier = (None if known is None else parse_verifier(known)) or make_mock_verifier(credentials.user)
    return password_matches(credentials.password or "", verifier)
