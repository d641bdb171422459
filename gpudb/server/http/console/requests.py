"""What every request of the console has to be: small enough, from the page itself, and in JSON."""

from __future__ import annotations

import asyncio
import hmac
import json
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from gpudb.errors import GpudbError, SqlError
from gpudb.server.http.console.frames import describe_error
from gpudb.server.http.console.logins import ConsoleLogin

CSRF_HEADER = "x-csrf-token"
BODY_SECONDS = 30.0
"""Seconds in which a body has to arrive."""
SECURITY_HEADERS = {
    "content-security-policy": (
        "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
        "connect-src 'self'; worker-src 'self' blob:; object-src 'none'; base-uri 'none'; form-action 'self'; "
        "frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}

_STATUSES = {"28P01": 401, "28000": 401, "57P03": 503}


def name_cookie(request: Request) -> str:
    """Returns the name of the login's cookie, with the port that the browser asks: cookies are shared by all ports."""
    try:
        port = urlsplit(f"//{request.headers.get('host', '')}").port
    except ValueError:
        port = None
    return f"gpudb_console_{port or (443 if request.url.scheme == 'https' else 80)}"


class HttpError(Exception):
    """An answer with a status of its own."""

    def __init__(self, status: int, error: GpudbError, headers: dict[str, str] | None = None) -> None:
        super().__init__(error.message)
        self.status, self.error, self.headers = status, error, headers or {}


def answer_error(error: GpudbError, status: int | None = None, headers: dict[str, str] | None = None) -> Response:
    """Returns the answer of an error."""
    chosen = _STATUSES.get(error.sqlstate, 400) if status is None else status
    return JSONResponse({"error": describe_error(error)}, chosen, headers)


def check_origin(request: Request) -> None:
    """403 for a request that another site's page sends."""
    origin = request.headers.get("origin")
    if origin is None:
        return
    if urlsplit(origin).netloc.lower() != request.headers.get("host", "").lower():
        message = f'the origin "{origin[:200]}" is not the console\'s'
        raise HttpError(403, SqlError.of("insufficient_privilege", message))


def check_csrf(request: Request, login: ConsoleLogin) -> None:
    """403 for a change that the page has not asked for."""
    check_origin(request)
    given = request.headers.get(CSRF_HEADER, "")
    if not hmac.compare_digest(given.encode(), login.csrf.encode()):
        message = "the header X-CSRF-Token is missing or wrong"
        raise HttpError(403, SqlError.of("insufficient_privilege", message))


async def read_object(request: Request, limit: int) -> dict[str, Any]:
    """Returns the JSON object of a body; 413 beyond `limit` bytes, 408 if it does not arrive, 400 for another body."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise HttpError(415, SqlError.of("protocol_violation", "the body has to be application/json"))
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > limit:
        raise _too_large(limit)
    content = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for piece in request.stream():
                content += piece
                if len(content) > limit:
                    raise _too_large(limit)
    except TimeoutError:
        error = SqlError.of("protocol_violation", f"the body has not arrived in {BODY_SECONDS:.0f} seconds")
        raise HttpError(408, error, {"connection": "close"}) from None
    except ClientDisconnect:
        raise HttpError(400, SqlError.of("protocol_violation", "the body is incomplete")) from None
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise _invalid("the body is not a JSON object")
    return found


def _too_large(limit: int) -> HttpError:
    error = SqlError.of("program_limit_exceeded", f"the body has more than {limit} bytes")
    return HttpError(413, error, {"connection": "close"})


# ---- fields


def get_text(body: dict[str, Any], name: str, default: str | None = None) -> str:
    """Returns a text field; 400 if it is missing or none, or has a zero byte or half of a surrogate pair."""
    value = body.get(name, default)
    if not isinstance(value, str):
        raise _invalid(f'"{name}" has to be a text')
    if "\0" in value:
        raise _invalid(f'"{name}" has a zero byte')
    _check_encodable(name, value)
    return value


def get_choice(body: dict[str, Any], name: str, choices: tuple[str, ...], default: str | None = None) -> str:
    """Returns a field that is one of some texts; 400 for others."""
    value = get_text(body, name, default)
    if value not in choices:
        raise _invalid(f'"{name}" has to be one of {", ".join(choices)}')
    return value


def get_count(body: dict[str, Any], name: str) -> int | None:
    """Returns a field that is a number of rows, None if it is missing; 400 for others."""
    value = body.get(name)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        raise _invalid(f'"{name}" has to be a number of rows')
    return value


def get_flag(body: dict[str, Any], name: str) -> bool:
    """Returns a field that is true or false, false if it is missing; 400 for others."""
    value = body.get(name, False)
    if not isinstance(value, bool):
        raise _invalid(f'"{name}" has to be true or false')
    return value


def get_parameters(body: dict[str, Any]) -> tuple[str | None, ...]:
    """Returns the field of parameters: texts, and null for NULL; 400 for others."""
    value = body.get("parameters") or []
    if not isinstance(value, list) or not all(each is None or isinstance(each, str) for each in value):
        raise _invalid('"parameters" has to be a list of texts and nulls')
    for each in value:
        _check_encodable("parameters", each or "")
    return tuple(value)


def _check_encodable(name: str, value: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _invalid(f'"{name}" has half of a surrogate pair') from None


def _invalid(message: str) -> HttpError:
    return HttpError(400, SqlError.of("invalid_parameter_value", message))
