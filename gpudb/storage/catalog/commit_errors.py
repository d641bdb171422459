"""Errors of commits to a catalog of several coordinators."""

from __future__ import annotations

from gpudb.errors import GpudbError, SerializationFailure

WAIT_SECONDS = 30.0
"""How long a commit, or a sequence, waits for the catalog's PostgreSQL to come back."""
LEASE_LOST = "the transaction cannot be committed: the other coordinators took this one for gone"


class LeaseLost(SerializationFailure):
    """The others have taken this coordinator for gone, and may have removed files that its transactions wrote."""


class CommitUnknown(GpudbError):
    """The connection was lost during a commit, and PostgreSQL did not come back to tell its outcome."""

    condition = "transaction_resolution_unknown"


class ConnectionLost(GpudbError):
    """The connection to PostgreSQL was lost before the commit: nothing has been written, and it may be tried again."""

    condition = "connection_failure"
