"""The functions over large objects: lo_create, lo_open, loread, lowrite, lo_get and their like.

A transaction that changes an object has its lock until it ends. Errors are those of PostgreSQL's be-fsstubs.c and
inv_api.c.
"""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpudb.catalog.large_objects import CONTENT_NAME, MAX_BYTES, PAGE_BYTES, LargeObject, make_content_table
from gpudb.catalog.model import BOOTSTRAP_ROLE_OID, Catalog
from gpudb.catalog.models import CONTENT_SCHEMA
from gpudb.catalog.tables import Table
from gpudb.errors import DuplicateTable, InternalError, SerializationFailure, SqlError, find_file_condition
from gpudb.session.authorization.membership import is_superuser
from gpudb.session.authorization.privileges import (
    get_current_role,
    is_owner,
    list_object_privileges,
    make_denied_error,
    make_owner_error,
)
from gpudb.session.context import Context
from gpudb.session.execution.locks_and_snapshots.restarts import StatementRestart
from gpudb.session.state.large_object_descriptors import Descriptor
from gpudb.storage.large_objects import drop_pages, read_range, write_pages
from gpudb.storage.locks import Item, Lockable

_WRITES, _READS = 0x20000, 0x40000
_INT4 = 2**31 - 1
_MAX_RESULT = (1 << 30) - 5
"""Bytes of the longest bytea."""


def call_large_object_function(context: Context, name: str, args: Sequence[Any]) -> object:
    """The result of a function over large objects; all are strict."""
    if name in _SERVER_FILES and not is_superuser(context.transaction.catalog, get_current_role(context)):
        raise make_denied_error("function", name)
    if None in args:
        return None
    return _FUNCTIONS[name](context, *args)


# ---- objects


def _create(context: Context, oid: int) -> int:
    context.check_writable("lo_create()")
    return _make(context, oid).oid


def _creat(context: Context, _mode: int) -> int:
    context.check_writable("lo_creat()")
    return _make(context, 0).oid


def _make(context: Context, oid: int) -> LargeObject:
    """Makes an empty large object of an OID, 0 for a new one; 23505."""
    transaction = context.transaction
    _require_content(context)
    if oid:
        _lock(context, oid)
    while not oid:
        number = transaction.allocate_oid()
        oid = 0 if str(number) in transaction.catalog.large_objects else number
    if str(oid) in transaction.catalog.large_objects:
        constraint = "pg_largeobject_metadata_oid_index"
        message = f'duplicate key value violates unique constraint "{constraint}"'
        raise SqlError.of("unique_violation", message, detail=f"Key (oid)=({oid}) already exists.")
    made = LargeObject(oid, context.session.user)
    transaction.put_large_object(made)
    return made


def _unlink(context: Context, oid: int) -> int:
    context.check_writable("lo_unlink()")
    found = _find(context.transaction.catalog, oid)
    if not _is_open_to_all(context) and not is_owner(context.transaction.catalog, get_current_role(context), found):
        raise make_owner_error("large object", found.name)
    drop_large_object(context, found)
    return 1


def drop_large_object(context: Context, found: LargeObject) -> None:
    """Drops a large object with its pages, and closes its descriptors."""
    _lock(context, found.oid)
    transaction = context.transaction
    found = _find(transaction.catalog, found.oid)
    context.session.descriptors.close_object(found.oid)
    table = _find_content(transaction.catalog)
    if table is not None:
        drop_pages(transaction, table, found.oid)
    if found.comment is None and found.acl is None:
        transaction.drop_large_object(found)
    else:  # the system catalog shows more of it
        transaction.set_catalog(transaction.catalog.drop(found))


def _find(catalog: Catalog, oid: int) -> LargeObject:
    found = catalog.large_objects.get(str(oid))
    if found is None:
        raise SqlError.of("undefined_object", f"large object {oid} does not exist")
    return found


def _is_open_to_all(context: Context) -> bool:
    return context.session.settings["lo_compat_privileges"] == "on"


def _check(context: Context, found: LargeObject, privileges: str) -> None:
    """42501 without privileges on a large object."""
    held = list_object_privileges(context.transaction.catalog, get_current_role(context), found)
    if not held.issuperset(privileges) and not _is_open_to_all(context):
        raise make_denied_error("large object", found.name)


# ---- the table of pages, and the lock of an object


def _find_content(catalog: Catalog) -> Table | None:
    found = catalog.relation(CONTENT_SCHEMA, CONTENT_NAME)
    return found if isinstance(found, Table) else None


def _require_content(context: Context) -> Table:
    """Returns the table of pages; a transaction of its own makes it before the first object of a database."""
    transaction = context.transaction
    if (known := _find_content(transaction.catalog)) is not None:
        return known
    store, database = context.session.database.store, context.session.database_name
    try:
        with store.begin(database) as own:
            if _find_content(own.catalog) is None:
                oid, catalog = own.catalog.allocate_oid()
                owner = next(role.name for role in catalog.roles.values() if role.oid == BOOTSTRAP_ROLE_OID)
                own.set_catalog(catalog.put(make_content_table(oid, owner)))
                own.commit()
    except DuplicateTable:
        pass  # another session has made it at the same time
    transaction.adopt_table(CONTENT_SCHEMA, CONTENT_NAME)
    found = _find_content(transaction.catalog)
    if found is None:
        raise InternalError("there is no table for the pages of large objects")
    return found


def _lock(context: Context, oid: int) -> None:
    """Waits for those who change a large object; 40001 if the transaction keeps a snapshot that lacks their change."""
    transaction = context.transaction
    table = _require_content(context)
    wanted: list[tuple[Lockable, bool]] = [(table.oid, True), (Item(table.oid, "row", oid), False)]
    transaction.lock_items(wanted, context.lock_seconds, context.cancel.check)
    before, now = transaction.base.large_objects.get(str(oid)), transaction.find_committed(str(oid))
    if _identify(before) == _identify(now):
        return
    if context.session.transactions.keeps_snapshot:
        raise SerializationFailure(
            "could not serialize access due to concurrent update", hint="The transaction might succeed if retried."
        )
    if context.statement.kind != "SelectStmt":
        raise StatementRestart
    transaction.advance()


def _identify(found: LargeObject | None) -> object:
    return None if found is None else (found.size, found.stamp)


# ---- reading and writing


def _read(catalog: Catalog, oid: int, start: int, count: int) -> bytes:
    found, table = _find(catalog, oid), _find_content(catalog)
    stop = min(start + count, found.size)
    if stop <= start:
        return b""
    return bytes(stop - start) if table is None else read_range(table, oid, start, stop)


def _write(context: Context, oid: int, start: int, data: bytes) -> None:
    if not data:
        return
    if start + len(data) > MAX_BYTES:
        raise _invalid(f"invalid large object write request size: {len(data)}")
    _lock(context, oid)
    transaction = context.transaction
    found, table = _find(transaction.catalog, oid), _require_content(context)
    stop, pages = start + len(data), dict[int, bytes]()
    for number in range(start // PAGE_BYTES, -(-stop // PAGE_BYTES)):
        at = number * PAGE_BYTES
        part = data[max(at - start, 0) : at + PAGE_BYTES - start]
        if len(part) < PAGE_BYTES and at < found.size:
            old = read_range(table, oid, at, min(at + PAGE_BYTES, found.size))
            first = max(start - at, 0)
            part = old[:first].ljust(first, b"\0") + part + old[first + len(part) :]
        elif at < start:
            part = bytes(start - at) + part
        pages[number] = part
    write_pages(transaction, table, oid, pages, -(-found.size // PAGE_BYTES))
    _put_size(context, found, max(found.size, stop))


def _truncate(context: Context, oid: int, size: int) -> None:
    if not 0 <= size <= MAX_BYTES:
        raise _invalid(f"invalid large object truncation target: {size}")
    _lock(context, oid)
    transaction = context.transaction
    found, table = _find(transaction.catalog, oid), _require_content(context)
    number, left = divmod(size, PAGE_BYTES)
    at = number * PAGE_BYTES
    old = read_range(table, oid, at, min(size, found.size)) if at < min(size, found.size) else b""
    drop_pages(transaction, table, oid, number)
    write_pages(transaction, _require_content(context), oid, {number: old.ljust(left, b"\0")}, 0)
    _put_size(context, found, size)


def _put_size(context: Context, found: LargeObject, size: int) -> None:
    context.transaction.put_large_object(replace(found, size=size, stamp=secrets.randbits(62)))


def _invalid(message: str) -> SqlError:
    return SqlError.of("invalid_parameter_value", message)


# ---- descriptors


def _open(context: Context, oid: int, mode: int) -> int:
    if mode & _WRITES:
        context.check_writable("lo_open(INV_WRITE)")
    return context.session.descriptors.add(_make_descriptor(context, oid, mode))


def _make_descriptor(context: Context, oid: int, mode: int) -> Descriptor:
    if not mode & (_READS | _WRITES):
        raise _invalid(f"invalid flags for opening a large object: {mode}")
    catalog = context.transaction.catalog
    found = _find(catalog, oid)
    writes = bool(mode & _WRITES)
    _check(context, found, "rw" if writes else "r")
    return Descriptor(oid, writes, None if writes else catalog)


def _catalog_of(context: Context, descriptor: Descriptor) -> Catalog:
    return descriptor.snapshot or context.transaction.catalog


def _close(context: Context, number: int) -> int:
    context.session.descriptors.find(number)
    del context.session.descriptors[number]
    return 0


def _loread(context: Context, number: int, count: int) -> bytes:
    found = context.session.descriptors.find(number)
    data = _read(_catalog_of(context, found), found.oid, found.position, max(count, 0))
    found.position += len(data)
    return data


def _lowrite(context: Context, number: int, data: bytes) -> int:
    context.check_writable("lowrite()")
    found = _get_writing(context, number)
    _write(context, found.oid, found.position, data)
    found.position += len(data)
    return len(data)


def _get_writing(context: Context, number: int) -> Descriptor:
    found = context.session.descriptors.find(number)
    if not found.writes:
        message = f"large object descriptor {number} was not opened for writing"
        raise SqlError.of("object_not_in_prerequisite_state", message)
    return found


def _lseek64(context: Context, number: int, offset: int, whence: int) -> int:
    found = context.session.descriptors.find(number)
    if whence not in (os.SEEK_SET, os.SEEK_CUR, os.SEEK_END):
        raise _invalid(f"invalid whence setting: {whence}")
    if whence == os.SEEK_CUR:
        offset += found.position
    elif whence == os.SEEK_END:
        offset += _find(_catalog_of(context, found), found.oid).size
    _check_target(offset)
    found.position = offset
    return offset


def _check_target(offset: int) -> None:
    if not 0 <= offset <= MAX_BYTES:
        raise _invalid(f"invalid large object seek target: {offset}")


def _lseek(context: Context, number: int, offset: int, whence: int) -> int:
    return _fit(_lseek64(context, number, offset, whence), "lo_lseek", number)


def _tell64(context: Context, number: int) -> int:
    return context.session.descriptors.find(number).position


def _tell(context: Context, number: int) -> int:
    return _fit(_tell64(context, number), "lo_tell", number)


def _fit(position: int, name: str, number: int) -> int:
    if position > _INT4:
        message = f"{name} result out of range for large-object descriptor {number}"
        raise SqlError.of("numeric_value_out_of_range", message)
    return position


def _make_truncation(command: str) -> Callable[[Context, int, int], int]:
    def truncate(context: Context, number: int, size: int) -> int:
        context.check_writable(command)
        _truncate(context, _get_writing(context, number).oid, size)
        return 0

    return truncate


# ---- whole objects


def _from_bytea(context: Context, oid: int, data: bytes) -> int:
    context.check_writable("lo_from_bytea()")
    made = _make(context, oid)
    _write(context, made.oid, 0, data)
    return made.oid


def _get(context: Context, oid: int, start: int = 0, count: int | None = None) -> bytes:
    if count is not None and count < 0:
        raise _invalid("requested length cannot be negative")
    catalog = context.transaction.catalog
    found = _find(catalog, oid)
    _check(context, found, "r")
    _check_target(start)
    wanted = found.size - start if count is None else min(count, found.size - start)
    if wanted > _MAX_RESULT:
        raise SqlError.of("program_limit_exceeded", "large object read request is too large")
    return _read(catalog, oid, start, max(wanted, 0))


def _put(context: Context, oid: int, start: int, data: bytes) -> str:
    context.check_writable("lo_put()")
    _check(context, _find(context.transaction.catalog, oid), "rw")
    _check_target(start)
    _write(context, oid, start, data)
    return ""


# ---- files of the server


def _import(context: Context, name: str, oid: int = 0) -> int:
    context.check_writable("lo_import()")
    try:
        with Path(name).open("rb") as file:
            made = _make(context, oid)
            position = 0
            while part := file.read(_PART_BYTES):
                context.cancel.check()
                _write(context, made.oid, position, part)
                position += len(part)
    except OSError as error:
        raise _file_error("open", name, error) from None
    return made.oid


def _export(context: Context, oid: int, name: str) -> int:
    catalog = context.transaction.catalog
    found = _find(catalog, oid)
    _check(context, found, "r")
    try:
        with Path(name).open("wb") as file:
            for start in range(0, found.size, _PART_BYTES):
                context.cancel.check()
                file.write(_read(catalog, oid, start, _PART_BYTES))
    except OSError as error:
        raise _file_error("create", name, error) from None
    return 1


_PART_BYTES = 4 << 20


def _file_error(action: str, name: str, error: OSError) -> SqlError:
    reason = os.strerror(error.errno or errno.EIO)
    return SqlError.of(find_file_condition(error), f'could not {action} server file "{name}": {reason}')


_SERVER_FILES = frozenset({"lo_import", "lo_export"})
_FUNCTIONS: Mapping[str, Callable[..., object]] = {
    "lo_close": _close,
    "lo_creat": _creat,
    "lo_create": _create,
    "lo_export": _export,
    "lo_from_bytea": _from_bytea,
    "lo_get": _get,
    "lo_import": _import,
    "lo_lseek": _lseek,
    "lo_lseek64": _lseek64,
    "lo_open": _open,
    "lo_put": _put,
    "lo_tell": _tell,
    "lo_tell64": _tell64,
    "lo_truncate": _make_truncation("lo_truncate()"),
    "lo_truncate64": _make_truncation("lo_truncate64()"),
    "lo_unlink": _unlink,
    "loread": _loread,
    "lowrite": _lowrite,
}
LARGE_OBJECT_FUNCTIONS = frozenset(_FUNCTIONS)
