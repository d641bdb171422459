"""Who may cancel the statement of another session, or end it."""

from __future__ import annotations

from gpudb.errors import SqlError
from gpudb.session.authorization.membership import has_privileges_of, is_superuser
from gpudb.session.context import Context
from gpudb.session.state.role_names import find_role_name

SIGNAL_ROLE = "pg_signal_backend"


def check_signal(context: Context, process_id: int, action: str) -> None:
    """Raises 42501 unless the current role may `cancel` or `terminate` a session, if there is such a session.

    It needs the privileges of the role that logged in there, or of pg_signal_backend; a superuser's session needs a
    superuser.
    """
    target = next((each for each in context.session.database.sessions() if each.process_id == process_id), None)
    if target is None:
        return
    catalog, role = context.transaction.catalog, context.session.user
    owner = find_role_name(catalog, target.identity.authenticated.oid)
    is_protected = owner not in catalog.roles or is_superuser(catalog, owner)
    if is_protected and not is_superuser(catalog, role):
        objects = "cancel queries" if action == "cancel" else "terminate processes"
        raise _denied(
            action,
            f"Only roles with the SUPERUSER attribute may {objects} of roles with the SUPERUSER attribute.",
        )
    if any(has_privileges_of(catalog, role, each) for each in (owner, SIGNAL_ROLE)):
        return
    what, done = ("query", "canceled") if action == "cancel" else ("process", "terminated")
    raise _denied(
        action,
        f"Only roles with privileges of the role whose {what} is being {done} or with privileges of the"
        f' "{SIGNAL_ROLE}" role may {action} this {what}.',
    )


def _denied(action: str, detail: str) -> SqlError:
    what = "cancel query" if action == "cancel" else "terminate process"
    return SqlError.of("insufficient_privilege", f"permission denied to {what}", detail=detail)
