"""The error that a client receives for any exception: internal ones are logged under a number that it is told."""

from __future__ import annotations

import logging
import secrets

from gpudb.errors import GpudbError, InternalError, OutOfMemory, SqlError

_LOG = logging.getLogger(__name__)


def to_client_error(error: BaseException) -> GpudbError:
    """Returns the error that a client receives; for an internal one a number under which it is logged."""
    if isinstance(error, GpudbError):
        return error
    if isinstance(error, MemoryError):
        return OutOfMemory("out of memory")
    if isinstance(error, RecursionError):
        hint = "The statement is nested too deeply."
        return SqlError.of("statement_too_complex", "stack depth limit exceeded", hint=hint)
    number = secrets.token_hex(4)
    _LOG.error("internal error %s", number, exc_info=error)
    return InternalError(f"internal error {number}", hint=f"See the server's log for {number}.")
