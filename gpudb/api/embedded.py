"""A session of a database in this process. One database a data directory is shared, and closed with its last user."""

from __future__ import annotations

import atexit
import gc
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from gpudb.api.backend import T, make_copy_error
from gpudb.api.interrupts import Interruptible
from gpudb.api.names import quote_identifier
from gpudb.api.parameters import format_parameter, get_parameter_type, is_matrix
from gpudb.catalog.model import Catalog
from gpudb.config.database import EMBEDDED
from gpudb.engine.sharing import SharePlace
from gpudb.errors import GpudbError, SqlError
from gpudb.session.database import Database
from gpudb.session.results import CopyIn, CopyOut, Notice, Prepared, Result, ResultColumn
from gpudb.sql.bound import OutputColumn
from gpudb.storage.load.progress import Progress
from gpudb.types import SqlType, widen
from gpudb.values import parse_text
from gpudb.values.matrix import from_numpy

_APPENDED = "rows to append"

_open: dict[Path, tuple[Database, int]] = {}
_temporary: set[Database] = set()
_lock = threading.Lock()


def acquire(data_dir: Path | None, memory_limit: int | None) -> Database:
    """Returns the database of a data directory, opened on first use; None creates a temporary one.

    55006 if another process has the directory open; 22023 if it is open here with another memory limit.
    """
    settings = replace(EMBEDDED, memory_limit=memory_limit)
    if data_dir is None:
        temporary = Database(None, settings)
        _temporary.add(temporary)
        return temporary
    key = data_dir.resolve()
    with _lock:
        if key in _open:
            database, users = _open[key]
            if memory_limit is not None:
                message = f'"{data_dir}" is open in this process already: its memory limit is set'
                raise SqlError.of("invalid_parameter_value", message)
        else:
            database, users = Database(data_dir, settings), 0
        _open[key] = database, users + 1
        return database


def release(database: Database) -> None:
    """Releases a database; the last user closes it."""
    with _lock:
        for key, (shared, users) in list(_open.items()):
            if shared is database:
                if users > 1:
                    _open[key] = shared, users - 1
                    return
                del _open[key]
        _temporary.discard(database)
    database.close()


def _close_all() -> None:
    """Closes what a program has left open at its end: DuckDB's objects do not outlive the interpreter in silence."""
    left = [*_temporary, *(database for database, _ in _open.values())]
    for database in left:
        database.close()
    if left:
        # The frames of the error that has ended the program hold them too, and each other.
        for name in ("last_exc", "last_value", "last_traceback"):
            if hasattr(sys, name):
                setattr(sys, name, None)
        gc.collect()


atexit.register(_close_all)


class EmbeddedBackend:
    """See `backend.Backend`."""

    def __init__(self, data_dir: Path | None, user: str, memory_limit: int | None, settings: Mapping[str, str]) -> None:
        self._database = acquire(data_dir, memory_limit)
        try:
            self._session = self._database.session(user, {"application_name": "python", **settings})
            self._session.is_embedded = True
        except BaseException:
            release(self._database)
            raise
        self._closed = False

    @property
    def status(self) -> str:
        return self._session.status

    @property
    def timezone(self) -> str:
        return self._session.settings["TimeZone"]

    @property
    def host(self) -> str:
        return ""

    def describe(self, sql: str, parameters: Sequence[object]) -> tuple[ResultColumn, ...]:
        failed = True
        try:
            columns = self._prepare(sql, parameters).columns
            failed = False
        finally:
            self.finish(failed=failed)
        return columns or ()

    def run(self, sql: str, parameters: Sequence[object], rows: int | None = None) -> Result:
        try:
            prepared = self._prepare(sql, parameters)
            values = self._convert_parameters(prepared, parameters)
            result = self._session.execute(prepared, values)
            if isinstance(result, CopyIn):
                result.abort("no data was given")
            if isinstance(result, CopyIn | CopyOut):
                result.close()
                raise make_copy_error(is_copy_from=isinstance(result, CopyIn))
            return result
        except BaseException as error:
            self.finish(failed=True)
            raise error

    def _convert_parameters(self, prepared: Prepared, parameters: Sequence[object]) -> list[object]:
        if len(parameters) != len(prepared.parameters):
            count = len(prepared.parameters)
            message = f"{len(parameters)} parameters were given, and the statement has {count}"
            raise SqlError.of("protocol_violation", message)
        pairs = zip(prepared.parameters, parameters, strict=True)
        return [self._convert_parameter(type_, value) for type_, value in pairs]

    def _convert_parameter(self, type_: SqlType, value: object) -> object:
        if value is None:
            return None
        if is_matrix(value) and type_.name == "matrix":
            return from_numpy(value)
        return parse_text(widen(type_), format_parameter(value), self.timezone)

    def share(self, sql: str, parameters: Sequence[object], read: Callable[[str], T], place: SharePlace) -> T | None:
        return None  # the rows are in this process

    def _prepare(self, sql: str, parameters: Sequence[object]) -> Prepared:
        oids = [0 if (kind := get_parameter_type(value)) is None else kind.oid for value in parameters]
        prepared = self._session.prepare(sql, oids)
        if prepared.given_oids is None:
            return prepared
        return self._session.bind_values(prepared, self._convert_parameters(prepared, parameters))

    def finish(self, *, failed: bool) -> None:
        if failed:
            self._session.fail()
        self._session.sync()

    def script(self, sql: str) -> Result:
        last = Result("")
        for result in self._session.run(sql):
            if isinstance(result, CopyIn):
                result.abort("no data was given")
            if isinstance(result, CopyIn | CopyOut):
                raise make_copy_error(is_copy_from=isinstance(result, CopyIn))
            last = Result(result.tag, result.columns, iter(list(result.batches)))
        return last

    def copy_in(self, sql: str, chunks: Iterable[bytes]) -> str:
        tag = ""
        for result in self._session.run(sql):
            if not isinstance(result, CopyIn) or tag:
                raise SqlError.of("syntax_error", "one COPY … FROM STDIN is expected")
            try:
                for chunk in chunks:
                    result.feed(chunk)
            except GpudbError:
                raise
            except BaseException:
                result.abort("the data's source failed")
                raise
            tag = result.finish()
        return tag

    def copy_out(self, sql: str, write: Callable[[bytes], object]) -> str:
        tag = ""
        for result in self._session.run(sql):
            if not isinstance(result, CopyOut) or tag:
                result.close()
                raise SqlError.of("syntax_error", "one COPY … TO STDOUT is expected")
            try:
                for payload in result.payloads():
                    write(payload)
            finally:
                result.close()
            tag = result.tag
        return tag

    def register(self, name: str, table: pa.Table, types: Sequence[SqlType]) -> None:
        self._session.frame_columns[name] = tuple(
            OutputColumn(column, kind) for column, kind in zip(table.schema.names, types, strict=True)
        )
        self._session.frames[name] = table

    def append(self, name: str, table: pa.Table, types: Sequence[SqlType]) -> int:
        columns = ", ".join(quote_identifier(column) for column in table.column_names)
        self.register(_APPENDED, table, types)
        try:
            failed = True
            result = self.run(f"INSERT INTO {name} ({columns}) SELECT {columns} FROM {quote_identifier(_APPENDED)}", ())
            try:
                result.close()
                failed = False
            finally:
                self.finish(failed=failed)
        finally:
            self.unregister(_APPENDED)
        return int(result.tag.rpartition(" ")[2])

    def _catalog(self) -> Catalog:
        return self._session.transactions.catalog

    def find_missing(self, names: Sequence[str]) -> list[str]:
        session, database = self._session, self._database
        catalog = self._catalog()
        return [
            name
            for name in names
            if name not in session.frames
            and catalog.find(name, session.search_path()) is None
            and database.cpu.system_columns("pg_catalog", name) is None
        ]

    def unregister(self, name: str) -> bool:
        self._session.frame_columns.pop(name, None)
        return self._session.frames.pop(name, None) is not None

    def take_notices(self) -> list[Notice]:
        return self._session.take_notices()

    def interruptible(self) -> AbstractContextManager[object]:
        return Interruptible(self._session.cancel)

    def progress(self) -> Progress | None:
        found = self._session.running.progress
        if found is None:
            fraction = self._session.running.measure_progress()
            return None if fraction is None else Progress(0, 0, 0, fraction=fraction)
        return Progress(found.bytes_processed, found.bytes_total, found.rows, found.excluded)

    def cancel(self) -> None:
        self._session.cancel()

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._session.close()
            release(self._database)
