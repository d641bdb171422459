"""Errors on a worker as values that the coordinator reads."""

from __future__ import annotations

import contextlib
import errno
import logging
import pickle
from typing import Any

from gpudb.errors import GpudbError, InternalError, OutOfMemory, SqlError
from gpudb.plan.errors import NotCarried

_LOG = logging.getLogger(__name__)


class Lost(Exception):
    """A share whose worker did not give its rows."""


class TooLarge(OutOfMemory):
    """Rows that have to come together, for which memory is too small: smaller chunks do not help."""


def told(error: BaseException, statement: int) -> dict[str, Any]:
    """An error of a statement, or of none (0), as a value that the coordinator reads."""
    if isinstance(error, Lost):
        return {"lost": error.args[0]}
    if isinstance(error, GpudbError | NotCarried):
        return {"error": pickle.dumps(error)}
    if isinstance(error, MemoryError):  # Arrow's is one too
        return {"error": pickle.dumps(OutOfMemory("out of memory", detail=str(error)))}
    if isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}:
        full = SqlError.of("disk_full", f"could not write a temporary file: {error.strerror}")
        return {"error": pickle.dumps(full)}
    with contextlib.suppress(Exception):
        _LOG.error("statement %s", statement, exc_info=error)
    return {"error": pickle.dumps(InternalError(f"{type(error).__name__}: {str(error)[:500]}"))}
