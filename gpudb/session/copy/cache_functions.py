"""pg_prewarm, gpudb_pin, gpudb_unpin and gpudb_evict: cache a table's columns in workers' memory, or release them.

A statement must be a SELECT whose only target is such a call.

    pg_prewarm('t'::regclass [, mode])   loads the table on every worker; returns the size in blocks of 8192 bytes
    gpudb_pin('t')                       loads it and exempts it from eviction; returns bytes
    gpudb_unpin('t')                     allows its eviction; returns the bytes that are still cached
    gpudb_evict('t')                     evicts its columns; returns the bytes freed

A foreign table of files is cached as the files are now.
"""

from __future__ import annotations

from gpudb.catalog.tables import Table
from gpudb.errors import SqlError, UndefinedFunction
from gpudb.session.authorization.privileges import check_privilege, get_current_role
from gpudb.session.context import Context
from gpudb.session.execution.foreign_data.foreign_tables import open_foreign_parts
from gpudb.sql.bind.query.sources import find_relation
from gpudb.sql.parse.distribute_by import fold_identifier

BLOCK = 8192
FUNCTIONS = frozenset({"pg_prewarm", "gpudb_pin", "gpudb_unpin", "gpudb_evict"})
_MODES = {"prefetch", "read", "buffer"}


def call_cache_function(context: Context, function: str, arguments: list[str | None]) -> int:
    """Runs such a call. 42883 for other arguments, 42P01 and 42809 for no table, 55000 without workers."""
    if not arguments or len(arguments) > (2 if function == "pg_prewarm" else 1):
        raise UndefinedFunction(f"function {function} of {len(arguments)} arguments does not exist")
    if len(arguments) == 2 and (arguments[1] or "").lower() not in _MODES:
        hint = "Valid prewarm types are prefetch, read and buffer."
        raise SqlError.of("invalid_parameter_value", "invalid prewarm type", hint=hint)
    if arguments[0] is None:
        raise SqlError.of("null_value_not_allowed", "relation cannot be null")
    table = _find_table(context, arguments[0])
    members = context.session.database.members
    if members is None:
        message = f"{function} needs workers: the embedded engine reads tables from their files"
        hint = "Start the server with --engine gpu or --engine twin."
        raise SqlError.of("object_not_in_prerequisite_state", message, hint=hint)
    from gpudb.engine.gpu.rpc.messages import CacheAction  # where there are workers, it is imported already

    actions = {
        "pg_prewarm": CacheAction.LOAD,
        "gpudb_pin": CacheAction.PIN,
        "gpudb_unpin": CacheAction.UNPIN,
        "gpudb_evict": CacheAction.EVICT,
    }
    size = members.apply(table, actions[function], context.cancel)
    return -(-size // BLOCK) if function == "pg_prewarm" else size


def _find_table(context: Context, name: str) -> Table:
    if name.isdigit():
        relation = context.transaction.catalog.find_relation_by_oid(int(name))
    else:
        parts = [fold_identifier(part) for part in name.split(".")]
        if not 1 <= len(parts) <= 2:
            raise SqlError.of("invalid_name", f'invalid name syntax: "{name}"')
        relation = find_relation(context.binder(), parts[0] if parts[1:] else "", parts[-1])
    if not isinstance(relation, Table):
        raise SqlError.of("wrong_object_type", f'"{name}" is not a table')
    check_privilege(context.transaction.catalog, get_current_role(context), relation, "r")
    return relation if relation.foreign is None else open_foreign_parts(context, relation)
