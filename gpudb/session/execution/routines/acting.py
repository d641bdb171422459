"""What a session is and may do while a routine of users runs: its role, its settings, and whether it may write."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gpudb.catalog.model import Catalog
from gpudb.catalog.routines import Routine
from gpudb.errors import FeatureNotSupported
from gpudb.session.authorization.membership import is_superuser
from gpudb.session.authorization.privileges import act_as
from gpudb.session.context import Context, SessionState
from gpudb.sql.parse.parser import RawStatement, changes_data


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


def read_newest(context: Context, routine: Routine | None) -> None:
    """Lets a statement of a volatile routine, or of DO without one, see what has been committed before it.

    Under READ COMMITTED, as in PostgreSQL: those of other functions see what the statement sees that calls them.
    """
    if routine is not None and routine.kind == "f" and routine.volatility != "v":
        return
    if not context.session.transactions.keeps_snapshot:
        context.transaction.advance(rows_alone=True)


def check_volatility(routine: Routine, statement: RawStatement) -> None:
    """0A000 for a statement that does anything but read, in a function that is declared STABLE or IMMUTABLE."""
    if routine.volatility == "v" or routine.kind != "f":
        return
    node: Any = statement.node
    words = [word for word in statement.text.upper().split()[:5] if word not in _BETWEEN] or [""]
    if statement.kind == "SelectStmt" and not changes_data(node):
        if not len(node.locking_clause):
            return
        shown = "SELECT FOR UPDATE"
    elif statement.kind == "SelectStmt":
        shown = "SELECT"
    elif words[0] in {"CREATE", "ALTER", "DROP"}:
        shown = " ".join(words[:2])
    else:
        shown = {"TRUNCATE": "TRUNCATE TABLE", "WITH": statement.kind.removesuffix("Stmt").upper()}.get(
            words[0], words[0]
        )
    raise FeatureNotSupported(f"{shown.rstrip(';')} is not allowed in a non-volatile function")


_BETWEEN = frozenset({"OR", "REPLACE", "TEMP", "TEMPORARY", "UNIQUE"})
