"""Bearer tokens of the Iceberg REST catalog: a role's name and an end, signed for as long as the process lives."""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import secrets
import time

TOKEN_SECONDS = 3600

_KEY = secrets.token_bytes(32)


def make_token(user: str, verifier: str | None, now: float | None = None) -> str:
    """Returns a token of a role, which a change of its password verifier ends."""
    ends = int(time.time() if now is None else now) + TOKEN_SECONDS
    content = base64.urlsafe_b64encode(json.dumps([user, ends]).encode())
    return f"{content.decode()}.{_sign(content, verifier)}"


def read_user(token: str) -> str | None:
    """Returns the role that a token names, not checked yet; None for a text that is no token, or one that has ended."""
    try:
        user, ends = json.loads(base64.urlsafe_b64decode(token.partition(".")[0]))
    except (ValueError, TypeError, RecursionError, binascii.Error):
        return None
    return user if isinstance(user, str) and isinstance(ends, int) and time.time() < ends else None


def is_valid(token: str, verifier: str | None) -> bool:
    """Returns whether a token was made here for a role with a password verifier."""
    content, _, signature = token.partition(".")
    return hmac.compare_digest(signature.encode(), _sign(content.encode(), verifier).encode())


def _sign(content: bytes, verifier: str | None) -> str:
    return hmac.digest(_KEY, content + b"\0" + (verifier or "").encode(), "sha256").hex()
