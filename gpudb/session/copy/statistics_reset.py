"""pg_stat_statements_reset: discards statistics of statements, of all or of a role, a database and a query.

A statement must be a SELECT whose only target is such a call.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpudb.errors import SqlError, UndefinedFunction
from gpudb.session.context import Context
from gpudb.session.execution.session_functions import check_superuser

RESET = "pg_stat_statements_reset"


def reset_statistics(context: Context, arguments: Sequence[str | None]) -> None:
    """Runs such a call: its arguments are OIDs of a role and of a database and a query identifier, 0 for all.

    42501 unless the current role is a superuser, 42883 for more arguments, 22P02 for one that is no number.
    """
    if len(arguments) > 3:
        raise UndefinedFunction(f"function {RESET} of {len(arguments)} arguments does not exist")
    check_superuser(context, f"permission denied for function {RESET}")
    if None in arguments:
        return  # it is strict
    role, database, query = (*map(_parse_number, arguments), *(0 for _ in range(3 - len(arguments))))
    context.session.database.recorder.drain()
    context.session.database.statistics.reset(role, query, database)


def _parse_number(text: str | None) -> int:
    try:
        return int(text or "")
    except ValueError:
        message = f'invalid input syntax for type bigint: "{text}"'
        raise SqlError.of("invalid_text_representation", message) from None
