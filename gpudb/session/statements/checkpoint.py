"""CHECKPOINT: writes Iceberg's metadata of the commits that only the log has."""

from __future__ import annotations

from gpudb.errors import SqlError
from gpudb.session.authorization.membership import has_privileges_of
from gpudb.session.context import Context
from gpudb.session.results import Result

CHECKPOINT_ROLE = "pg_checkpoint"


def checkpoint(context: Context) -> Result:
    """CHECKPOINT; 42501 unless the current role has the privileges of pg_checkpoint."""
    if not has_privileges_of(context.transaction.catalog, context.session.user, CHECKPOINT_ROLE):
        detail = f'Only roles with privileges of the "{CHECKPOINT_ROLE}" role may execute this command.'
        raise SqlError.of("insufficient_privilege", "permission denied to execute CHECKPOINT command", detail=detail)
    context.session.database.store.fold()
    return Result("CHECKPOINT")
