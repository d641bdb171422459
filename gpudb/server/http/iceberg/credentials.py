"""What a request to the Iceberg REST catalog says of its sender: a role's password, or a token that was made for it."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass

from starlette.requests import Request

from gpudb.catalog.model import Catalog
from gpudb.catalog.roles import Role
from gpudb.errors import SqlError
from gpudb.server.http.iceberg.tokens import is_valid, make_token, read_user
from gpudb.server.http.login import Proof, Sources, get_host, is_encrypted, log_in, prove_password
from gpudb.server.wire.hba.matching import ConnectionRequest


@dataclass(frozen=True, slots=True)
class Credentials:
    """A role's name, and how it proves that it is the sender's."""

    user: str
    password: str = ""
    token: str | None = None

    @property
    def proof(self) -> Proof:
        """The proof by the token, or by the password."""
        token = self.token
        return prove_password(self.user, self.password) if token is None else lambda role: _is_token_of(token, role)


def _is_token_of(token: str, role: Role | None) -> bool:
    return role is not None and role.verifier is not None and is_valid(token, role.verifier)


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


def enter(sources: Sources, request: Request, credentials: Credentials, database: str) -> Catalog:
    """Returns the catalog of a database for a role; raises Refusal as `log_in` does."""
    _log_in(sources, request, credentials, database)
    return sources.database.store.catalog(database)


def exchange_password(sources: Sources, request: Request, credentials: Credentials, database: str) -> str:
    """Returns a token for a role with its password; raises Refusal as `log_in` does."""
    role = _log_in(sources, request, credentials, database)
    return make_token(role.name, role.verifier)


def _log_in(sources: Sources, request: Request, credentials: Credentials, database: str) -> Role:
    asked = ConnectionRequest(credentials.user, database, get_host(request), is_encrypted(request))
    return log_in(sources, asked, credentials.proof)[0]
