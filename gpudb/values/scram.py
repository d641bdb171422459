"""SCRAM-SHA-256 verifiers: a password as the text that a role stores, `SCRAM-SHA-256$4096:salt$stored:server`.

Sources: RFC 5802 and 7677 (the keys), RFC 4013 (SASLprep), PostgreSQL 16's scram-common.c (the text form).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets
import stringprep
import unicodedata
from dataclasses import dataclass

ITERATIONS = 4096
SALT_BYTES = 16
MECHANISM = "SCRAM-SHA-256"

_TEXT = re.compile(rf"{MECHANISM}\$(\d{{1,9}}):([A-Za-z0-9+/=]+)\$([A-Za-z0-9+/=]+):([A-Za-z0-9+/=]+)", re.ASCII)
_PROHIBITED = (
    stringprep.in_table_c12,
    stringprep.in_table_c21_c22,
    stringprep.in_table_c3,
    stringprep.in_table_c4,
    stringprep.in_table_c5,
    stringprep.in_table_c6,
    stringprep.in_table_c7,
    stringprep.in_table_c8,
    stringprep.in_table_c9,
    stringprep.in_table_a1,
)


@dataclass(frozen=True, slots=True)
class Verifier:
    """What a server stores of a password: enough to check it, too little to log in elsewhere."""

    iterations: int
    salt: bytes
    stored_key: bytes
    server_key: bytes

    def __str__(self) -> str:
        """PostgreSQL's text form."""
        salt, stored, server = (
            base64.b64encode(part).decode() for part in (self.salt, self.stored_key, self.server_key)
        )
        return f"{MECHANISM}${self.iterations}:{salt}${stored}:{server}"


def make_verifier(password: str, iterations: int = ITERATIONS, salt: bytes | None = None) -> str:
    """Returns the text for `Role.verifier` of a plain-text password."""
    return str(derive_keys(password, iterations, salt or secrets.token_bytes(SALT_BYTES)))


def derive_keys(password: str, iterations: int, salt: bytes) -> Verifier:
    """Derives the keys of a password."""
    salted = hashlib.pbkdf2_hmac("sha256", saslprep(password).encode(), salt, iterations)
    client_key = hmac.digest(salted, b"Client Key", "sha256")
    return Verifier(iterations, salt, hashlib.sha256(client_key).digest(), hmac.digest(salted, b"Server Key", "sha256"))


def parse_verifier(text: str) -> Verifier | None:
    """Parses PostgreSQL's text form; None if the text is something else (a plain-text password, say)."""
    match = _TEXT.fullmatch(text)
    if match is None:
        return None
    try:
        salt, stored, server = (base64.b64decode(part, validate=True) for part in match.group(2, 3, 4))
    except binascii.Error:
        return None
    if len(stored) != 32 or len(server) != 32 or int(match.group(1)) < 1:
        return None
    return Verifier(int(match.group(1)), salt, stored, server)


def password_matches(password: str, verifier: Verifier) -> bool:
    """Whether a plain-text password matches the verifier."""
    keys = derive_keys(password, verifier.iterations, verifier.salt)
    return hmac.compare_digest(keys.stored_key, verifier.stored_key)


def saslprep(password: str) -> str:
    """Returns RFC 4013's form of a password; the password itself if that form is prohibited, as PostgreSQL does."""
    if password.isascii():
        return password
    spaced = "".join(" " if stringprep.in_table_c12(char) else char for char in password)
    mapped = "".join(char for char in spaced if not stringprep.in_table_b1(char))
    normal = unicodedata.normalize("NFKC", mapped)
    if not normal or any(table(char) for char in normal for table in _PROHIBITED):
        return password
    right_to_left = [stringprep.in_table_d1(char) for char in normal]
    if any(right_to_left):
        mixed = any(stringprep.in_table_d2(char) for char in normal)
        if mixed or not (right_to_left[0] and right_to_left[-1]):
            return password
    return normal
