"""Encodes errors of a worker as values for the coordinator."""

from __future__ import annotations

import contextlib
import errno
import logging

from gpudb.engine.gpu.backend.library_errors import translate_error
from gpudb.engine.gpu.rpc.messages import Failed, FetchFailed
from gpudb.errors import GpudbError, InternalError, OutOfMemory, SqlError
from gpudb.plan.errors import NotSupportedOnWorkers

_LOG = logging.getLogger(__name__)


class PartitionLost(Exception):
    """A partition whose worker did not return its rows."""


class TooLarge(OutOfMemory):
    """Memory is too small for rows that one worker must hold together: smaller chunks do not help."""


def encode_error(error: BaseException, statement: int) -> Failed | FetchFailed:
    """Encodes an error of a statement, or of none (0), for the coordinator."""
    if isinstance(error, PartitionLost):
        return FetchFailed(error.args[0])
    if isinstance(error, GpudbError | NotSupportedOnWorkers):
        return Failed.of(error)
    if isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return Failed.of(SqlError.of("disk_full", f"could not write a temporary file: {error.strerror}"))
    translated = translate_error(error)  # Arrow's out-of-memory error is a MemoryError
    if isinstance(translated, OutOfMemory):
        return Failed.of(translated)
    with contextlib.suppress(Exception):
        _LOG.error("statement %s", statement, exc_info=error)
    if translated is not None:
        return Failed.of(translated)
    return Failed.of(InternalError(f"{type(error).__name__}: {str(error)[:500]}"))
