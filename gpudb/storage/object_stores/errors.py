"""Errors of object storages as errors of SQL that name the object, and nothing of the credentials."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from gpudb.errors import GpudbError, SqlError

_NAME = re.compile(r"AWS Error ([A-Z_0-9]+(?: \(HTTP status \d+\))?)")
_CONDITIONS = (
    (("NO_SUCH_BUCKET", "ContainerNotFound", "kNotFound"), "undefined_file", "there is no such bucket"),
    (("NO_SUCH_KEY", "RESOURCE_NOT_FOUND", "BlobNotFound"), "undefined_file", "there is no such object"),
    (
        (
            "INVALID_ACCESS_KEY_ID",
            "SIGNATURE_DOES_NOT_MATCH",
            "UNRECOGNIZED_CLIENT",
            "INVALID_CLIENT_TOKEN_ID",
            "EXPIRED_TOKEN",
            "ExpiredToken",
            "InvalidToken",
            "UserNotFound",
            "AuthenticationFailed",
            "failed to authenticate",
            "kUnauthenticated",
            "HTTP status 401",
        ),
        "invalid_authorization_specification",
        "the credentials are not valid",
    ),
    (
        ("ACCESS_DENIED", "HTTP status 403", "kPermissionDenied", "AuthorizationPermissionMismatch"),
        "insufficient_privilege",
        "permission denied",
    ),
    (("curlCode: 28", "REQUEST_TIMEOUT", "RequestTimeout", "kDeadlineExceeded"), "io_error", "the request timed out"),
    (
        ("curlCode: 6,", "curlCode: 7,", "curlCode: 35", "curlCode: 60", "Could not resolve host"),
        "fdw_unable_to_establish_connection",
        "no connection to the object storage",
    ),
)


@contextmanager
def convert_store_errors(address: str) -> Iterator[None]:
    """Converts errors: 58P01 (missing), 28000 (credentials), 42501 (denied), 58030 (time-outs and others), HV00N."""
    try:
        yield
    except GpudbError:
        raise
    except FileNotFoundError:
        message = f'could not open file "{address}": No such file or directory'
        raise SqlError.of("undefined_file", message) from None
    except (OSError, pa.ArrowException, RuntimeError) as error:
        raise make_store_error(address, str(error)) from None


def make_store_error(address: str, text: str) -> GpudbError:
    """Returns the error of a library's text about an object."""
    named = _NAME.search(text)
    for marks, condition, reason in _CONDITIONS:
        if any(mark in text for mark in marks):
            return SqlError.of(condition, f'could not open file "{address}": {reason}', detail=_shorten(named))
    return SqlError.of(
        "io_error", f'could not read or write "{address}"', detail=_shorten(named) or "The request failed."
    )


def _shorten(named: re.Match[str] | None) -> str | None:
    # The library's own text may have an endpoint's answer, and with it parts of what was signed
    return None if named is None else f"The error of the storage is {named[1].removeprefix('UNKNOWN ').strip('()')}."
