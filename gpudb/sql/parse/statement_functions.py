"""Functions that are carried out as statements: SELECT of one call of such a function, and nothing else."""

from __future__ import annotations

from typing import Any

STATEMENT_FUNCTIONS = frozenset(
    {
        "add_files",
        "gpudb_backup",
        "gpudb_evict",
        "gpudb_pin",
        "gpudb_restore_snapshot",
        "gpudb_unpin",
        "load_data",
        "pg_prewarm",
    }
)
_ALLOWED = frozenset({"target_list", "limit_option", "op"})


def find_function_call(select: Any) -> Any:
    """Returns the call of such a function if a SelectStmt consists of it; else None."""
    if len(select.target_list) != 1 or any(field.name not in _ALLOWED for field, _ in select.ListFields()):
        return None
    value = select.target_list[0].res_target.val
    if value.WhichOneof("node") != "func_call":
        return None
    call = value.func_call
    return call if len(call.funcname) == 1 and call.funcname[0].string.sval in STATEMENT_FUNCTIONS else None
