"""Authentication: SCRAM-SHA-256, the server's side of RFC 5802, or trust on loopback.

    start ──role without password, client on loopback──────────────────────────────► in
      └──AuthenticationSASL──► first ──server-first──► final ──proof right──► in
                                                          └──proof wrong, or no such role──► 28P01

An unknown role is asked for its password with a salt that is constant for its name, so that the answers do not reveal
which roles exist. Channel binding is not offered.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import ipaddress
import re
import secrets

from gpudb.catalog.roles import Role
from gpudb.errors import GpudbError, SqlError
from gpudb.server.wire.messages import ProtocolViolation
from gpudb.values.scram import ITERATIONS, MECHANISM, SALT_BYTES, Verifier, make_verifier, parse_verifier

__all__ = ["MECHANISM", "Scram", "is_loopback", "is_trusted", "make_mock_verifier", "make_rejection", "make_verifier"]

_SECRET = secrets.token_bytes(32)
"""Secret from which the salts of unknown roles are derived; new at each start."""

_CLIENT_FIRST = re.compile(rb"(([ny]|p=[^,]*),(a=[^,]*)?,)((m=[^,]*,)?n=([^,]*),r=([\x21-\x2b\x2d-\x7e]+)(,.*)?)")
_CLIENT_FINAL = re.compile(rb"(c=([A-Za-z0-9+/=]*),r=([\x21-\x2b\x2d-\x7e]+)(?:,[^p].*)?),p=([A-Za-z0-9+/=]+)")
_NONCE_BYTES = 18


def is_loopback(host: str) -> bool:
    """Whether an address is loopback."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host == "localhost"
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def is_trusted(role: Role | None, host: str) -> bool:
    """Whether a client at that address needs no password for the role."""
    return role is not None and role.verifier is None and is_loopback(host)


def make_rejection(user: str) -> GpudbError:
    """Returns 28P01, with the same message for every cause."""
    return SqlError.of("invalid_password", f'password authentication failed for user "{user}"')


class Scram:
    """One SCRAM exchange. `answer_first` answers the client's first message, `answer_final` its proof."""

    def __init__(self, user: str, role: Role | None) -> None:
        self._user = user
        verifier = parse_verifier(role.verifier) if role is not None and role.verifier is not None else None
        self._is_known = verifier is not None
        self._verifier = verifier or make_mock_verifier(user)
        self._client_first_bare = self._server_first = self._header = b""
        self._nonce = b""

    def answer_first(self, message: bytes) -> bytes:
        """Returns the server's first message; 08P01 for a malformed one, 0A000 for unsupported extensions."""
        match = _CLIENT_FIRST.fullmatch(message)
        if match is None:
            raise ProtocolViolation("malformed SCRAM message", fatal=True)
        self._header, binding, authorization, self._client_first_bare, extension, _, client_nonce, _ = match.groups()
        if binding.startswith(b"p="):
            text = "client selected SCRAM-SHA-256 without channel binding, but its message includes binding data"
            raise ProtocolViolation(text, fatal=True)
        if authorization:
            text = "client uses authorization identity, but it is not supported"
            raise SqlError.of("feature_not_supported", text)
        if extension:
            raise SqlError.of("feature_not_supported", "client requires an unsupported SCRAM extension")
        self._nonce = client_nonce + base64.b64encode(secrets.token_bytes(_NONCE_BYTES))
        salt = base64.b64encode(self._verifier.salt)
        self._server_first = b"r=%s,s=%s,i=%d" % (self._nonce, salt, self._verifier.iterations)
        return self._server_first

    def answer_final(self, message: bytes) -> bytes:
        """Returns the server's signature; 28P01 unless the proof is right and the role exists."""
        match = _CLIENT_FINAL.fullmatch(message)
        if match is None:
            raise ProtocolViolation("malformed SCRAM message", fatal=True)
        without_proof, binding, nonce, proof_text = match.groups()
        try:
            proof = base64.b64decode(proof_text, validate=True)
            header = base64.b64decode(binding, validate=True)
        except binascii.Error:
            raise ProtocolViolation("malformed SCRAM message", fatal=True) from None
        if header != self._header:
            raise ProtocolViolation("unexpected SCRAM channel-binding attribute in client-final-message", fatal=True)
        if not hmac.compare_digest(nonce, self._nonce):
            raise ProtocolViolation("invalid SCRAM response: nonce does not match", fatal=True)
        signed = b",".join((self._client_first_bare, self._server_first, without_proof))
        if not self._is_proof_valid(proof, signed) or not self._is_known:
            raise make_rejection(self._user)
        return b"v=" + base64.b64encode(hmac.digest(self._verifier.server_key, signed, "sha256"))

    def _is_proof_valid(self, proof: bytes, signed: bytes) -> bool:
        signature = hmac.digest(self._verifier.stored_key, signed, "sha256")
        if len(proof) != len(signature):
            return False
        client_key = bytes(a ^ b for a, b in zip(proof, signature))
        return hmac.compare_digest(hashlib.sha256(client_key).digest(), self._verifier.stored_key)


def make_mock_verifier(user: str) -> Verifier:
    """Returns a verifier that no password matches."""
    salt = hmac.digest(_SECRET, user.encode(), "sha256")[:SALT_BYTES]
    return Verifier(ITERATIONS, salt, secrets.token_bytes(32), secrets.token_bytes(32))
