"""pg_cancel_backend and pg_terminate_backend: signals to other sessions, for one row or for each of several."""

from __future__ import annotations

import time
from collections.abc import Sequence

from gpudb.errors import SqlError
from gpudb.session.authorization.signals import check_signal
from gpudb.session.context import Context

SIGNAL_FUNCTIONS = frozenset({"pg_cancel_backend", "pg_terminate_backend"})

_POLL_S = 0.01


def send_signal(context: Context, name: str, args: Sequence[object]) -> bool | None:
    """The result of a signal function: whether there is such a session. 22003 for a negative timeout, or 42501.

    pg_terminate_backend with a timeout in milliseconds waits until the session has ended; false if it does not end.
    """
    if None in args:
        return None
    process_id, *timeouts = args
    assert isinstance(process_id, int)
    database = context.session.database
    check_signal(context, process_id, "cancel" if name == "pg_cancel_backend" else "terminate")
    if name == "pg_cancel_backend":
        return _warn_unless(database.cancel(process_id), context, process_id)
    timeout = timeouts[0] if timeouts else 0
    assert isinstance(timeout, int)
    if timeout < 0:
        raise SqlError.of("numeric_value_out_of_range", '"timeout" must not be negative')
    if not _warn_unless(database.terminate(process_id), context, process_id):
        return False
    return not timeout or _wait_for_end(context, process_id, timeout)


def _warn_unless(found: bool, context: Context, process_id: int) -> bool:
    if not found:
        message = f"PID {process_id} is not a PostgreSQL backend process"
        context.notice(message, severity="WARNING", sqlstate="01000")
    return found


def _wait_for_end(context: Context, process_id: int, timeout: int) -> bool:
    end = time.monotonic() + timeout / 1000
    while any(each.process_id == process_id for each in context.session.database.sessions()):
        context.cancel.check()
        if time.monotonic() >= end:
            message = f"backend with PID {process_id} did not terminate within {timeout} milliseconds"
            context.notice(message, severity="WARNING", sqlstate="01000")
            return False
        time.sleep(_POLL_S)
    return True
