"""Access methods of tables, as `USING` names them."""

from __future__ import annotations

from gpudb import pgdata
from gpudb.errors import SqlError, UndefinedObject


def check_access_method(name: str) -> None:
    """42704 for an access method that does not exist, 55000 for one of indexes: tables have one, by either name."""
    if name in ("", "iceberg", "heap"):
        return
    if name in {row[0] for row in pgdata.load_table("pg_am").select("amname")}:
        message = f'access method "{name}" is not of type TABLE'
        raise SqlError.of("object_not_in_prerequisite_state", message)
    raise UndefinedObject(f'access method "{name}" does not exist')
