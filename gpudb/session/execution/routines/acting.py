"""What a session is while a routine of users runs: the role whose privileges it has, and the routine's settings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gpudb.catalog.model import Catalog
from gpudb.catalog.routines import Routine
from gpudb.session.authorization.membership import is_superuser
from gpudb.session.authorization.privileges import act_as
from gpudb.session.context import SessionState


@contextmanager
def act_for(session: SessionState, catalog: Catalog, routine: Routine) -> Iterator[None]:
    """Gives a session the owner's privileges if a routine is SECURITY DEFINER, and the values of its SET clauses.

    Both end with the block, also by an error. 42501 for a setting that the role may not change.
    """
    with act_as(session, routine.owner if routine.definer else None):
        if not routine.settings:
            yield
            return
        superuser = is_superuser(catalog, session.user)
        with session.settings.within_call(dict(routine.settings), superuser=superuser):
            yield


def may_end_transaction(routine: Routine) -> bool:
    """Whether COMMIT and ROLLBACK may stand in a procedure: not where its settings or its role end with it."""
    return not (routine.definer or routine.settings)
