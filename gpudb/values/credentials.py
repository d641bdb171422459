"""Credentials within texts: passwords in addresses, and keys among the parameters of addresses and connections."""

from __future__ import annotations

import re

HIDDEN = "…"
_WORDS = ("password", "passphrase", "secret", "token", "access_key", "accesskey", "account_key", "accountkey")
_SCHEME_END = "://"
_REST = re.compile(r"(?:[^\s'\"]|'')*")
_USER = re.compile(r"[^/:@]*:(?!\d{1,5}/)")
_PARAMETER = re.compile(
    r"([?&;](?:[\w-]*(?:password|secret|token|access_?key(?:_?id)?|account_?key|signature)|sig|"
    r"x-amz-credential)=)[^&;\s'\"]+",
    re.IGNORECASE,
)


def names_credential(name: str) -> bool:
    """Returns whether an option of that name holds a credential, such as `password` or `secret_access_key`."""
    lowered = name.lower()
    return any(word in lowered for word in _WORDS)


def hide_credentials(text: str) -> str:
    """Returns a text in which the passwords and keys of addresses are `…`: `s3://key:…@host`, `?sig=…`.

    A slash ends the names before a host, but not a secret, which may have some: `s3://key:a/b@bucket`.
    Takes time linear in the text.
    """
    if _SCHEME_END in text and "@" in text:
        text = _hide_passwords(text)
    return _PARAMETER.sub(rf"\1{HIDDEN}", text) if "=" in text else text


def _hide_passwords(text: str) -> str:
    pieces, done = [], 0
    while (start := text.find(_SCHEME_END, done)) >= 0:
        start += len(_SCHEME_END)
        end = _match(_REST, text, start)
        user, at = _USER.match(text, start, end), text.rfind("@", start, end)
        if user is not None and at >= user.end():
            pieces += [text[done : user.end()], HIDDEN]
            done = at
        pieces.append(text[done:end])
        done = end
    return "".join((*pieces, text[done:]))


def _match(pattern: re.Pattern[str], text: str, start: int) -> int:
    found = pattern.match(text, start)
    return start if found is None else found.end()
