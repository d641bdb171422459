"""Tables whose files lie in an object storage: written there before a commit names them, fetched when first read.

    DIR/tables-url                  the address of the tables, and an identifier that its object OWNER has, too
    DIR/tables/OID/…                copies of the objects URL/OID/…: of those that were written or read here

Without copies nothing is lost: a store that opens the directory fetches the metadata, and each file when it is read.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Protocol, TypeVar

from gpudb.errors import GpudbError, SqlError
from gpudb.lru import LruCache
from gpudb.storage.garbage import remove_from_disk
from gpudb.storage.object_stores.addresses import Address, has_pattern, read_address
from gpudb.storage.object_stores.errors import convert_store_errors
from gpudb.storage.object_stores.options import ATTEMPTS, read_environment
from gpudb.storage.object_stores.store import ObjectStore
from gpudb.storage.private_files import TABLES_URL_FILE, create_file, make_directory

OWNER = "gpudb-tables"
"""Name of the object that says whose tables lie below an address."""
KEEP_ORPHANS_SECONDS = 7 * 24 * 3600.0
"""Age from which an opening removes objects that no table names: a crash or a lost connection left them."""
CLOSE_SECONDS = 30.0
"""How long the end of a store waits for removals of objects; what is left is removed as orphans."""
_TRANSFERS = 8
_PIECE_BYTES = 8 << 20
_LOG = logging.getLogger(__name__)
_T = TypeVar("_T")
_known_local: LruCache[str, bool] = LruCache(1 << 16)
"""Files of tables that are known to be here."""


class TableFiles(Protocol):
    """Where the files of tables lie beside the data directory's folder `tables`."""

    @property
    def url(self) -> str | None:
        """The address of the tables; None for the data directory itself."""

    def withdraw(self, paths: Iterable[Path]) -> None:
        """Removes what `publish` has made of new files, whose commit failed; their copies stay."""

    def publish(self, paths: Iterable[Path]) -> None:
        """Makes new files outlive this machine before a commit names them; raises what uploads raise."""

    def remove(self, path: Path) -> None:
        """Removes a file or a folder of tables wherever it lies; failures are ignored."""

    def fetch_metadata(self, current: Mapping[int, Path]) -> None:
        """Makes tables' metadata local; `current` is each table's current metadata file by OID."""

    def has_tables(self) -> bool:
        """Returns whether there are files of tables outside the data directory."""

    def remove_orphans(self, live: Mapping[int, frozenset[Path] | None], next_oid: int) -> None:
        """Removes old files outside the data directory that no table names; None stands for all of a table's.

        Nothing is removed if the files are of a later catalog: `next_oid` is the next OID of this one.
        """

    def close(self) -> None:
        """Ends what is under way."""


class LocalTableFiles:
    """Files that lie in the data directory alone; their writers have synced them."""

    url = None

    def remove(self, path: Path) -> None:
        """See `TableFiles`."""
        remove_from_disk(path)

    def withdraw(self, paths: Iterable[Path]) -> None:
        """See `TableFiles`."""

    def publish(self, paths: Iterable[Path]) -> None:
        """See `TableFiles`."""

    def fetch_metadata(self, current: Mapping[int, Path]) -> None:
        """See `TableFiles`."""

    def has_tables(self) -> bool:
        """See `TableFiles`."""
        return False

    def remove_orphans(self, live: Mapping[int, frozenset[Path] | None], next_oid: int) -> None:
        """See `TableFiles`."""

    def close(self) -> None:
        """See `TableFiles`."""


class ObjectTableFiles:
    """Files that lie in an object storage, of which the folder `tables` has copies."""

    def __init__(self, folder: Path, address: Address) -> None:
        """`folder` has the copies."""
        self.url: str | None = str(address)
        self._folder = folder
        self._address = address
        self._store = ObjectStore(address.scheme, read_environment(address.scheme))
        self._pool = ThreadPoolExecutor(_TRANSFERS, "gpudb-objects")
        self._removals: set[Future[None]] = set()

    def locate(self, path: Path) -> Address:
        """Returns the address of a file or folder of tables."""
        return Address(self._address.scheme, f"{self._address.path}/{path.relative_to(self._folder).as_posix()}")

    def publish(self, paths: Iterable[Path]) -> None:
        """See `TableFiles`: all files are uploaded, several at a time."""
        coming = [self._pool.submit(self._store.upload, path, self.locate(path)) for path in paths]
        wait(coming)  # also after a failure: what is withdrawn must not come later
        for each in coming:
            each.result()

    def remove(self, path: Path) -> None:
        """See `TableFiles`: the copy at once, the objects in the background."""
        is_folder = path.is_dir() or not path.suffix
        remove_from_disk(path)
        if path.is_relative_to(self._folder):
            self._remove_later(self.locate(path), is_folder=is_folder)

    def withdraw(self, paths: Iterable[Path]) -> None:
        """See `TableFiles`: in the background."""
        for path in paths:
            self._remove_later(self.locate(path), is_folder=False)

    def _remove_later(self, address: Address, *, is_folder: bool) -> None:
        with contextlib.suppress(RuntimeError):  # the store is closed: an opening removes them
            coming = self._pool.submit(self._remove_objects, address, is_folder)
            self._removals.add(coming)
            coming.add_done_callback(self._removals.discard)

    def _remove_objects(self, address: Address, is_folder: bool) -> None:
        try:
            objects = [each.address for each in self._store.list_below(address)] if is_folder else [address]
            self._store.remove(objects)
        except GpudbError as error:
            _LOG.warning('could not remove "%s", a later start tries again: %s', address, error)

    def fetch(self, paths: Iterable[Path]) -> None:
        """Makes files local; XX001 for one that does not exist, and what `convert_store_errors` says."""
        list(self._pool.map(self._fetch_file, paths))

    def _fetch_file(self, path: Path) -> None:
        if path.exists():
            return
        make_directory(path.parent)
        partial = path.with_name(f"{path.name}.{os.getpid()}-{uuid.uuid4().hex[:8]}.part")
        create_file(partial)
        try:
            _try_again(lambda: self._copy(path, partial))
            partial.replace(path)
        except SqlError as error:
            if error.sqlstate == "58P01":
                message = f'data file "{self.locate(path)}" does not exist'
                raise GpudbError(message, condition="data_corrupted") from error
            raise
        finally:
            partial.unlink(missing_ok=True)

    def _copy(self, path: Path, partial: Path) -> None:
        address = self.locate(path)
        with (
            convert_store_errors(str(address)),
            self._store.open_file(address) as source,
            partial.open("wb") as target,
        ):
            shutil.copyfileobj(source, target, _PIECE_BYTES)
            target.flush()
            os.fsync(target.fileno())

    def claim(self, identifier: str, directory: Path) -> None:
        """Makes the prefix that of one data directory; 55000 if there are objects below it."""
        if any(True for _ in self._store.list_below(self._address)):
            message = f'there are objects below "{self._address}"'
            hint = "The tables of a new data directory need a prefix of their own."
            raise GpudbError(message, condition="object_not_in_prerequisite_state", hint=hint)
        note = directory / f"{TABLES_URL_FILE}.new"
        create_file(note)
        try:
            note.write_text(identifier)
            self._store.upload(note, self._owner)
        finally:
            note.unlink()

    def check_owner(self, identifier: str) -> None:
        """Raises 55000 if the objects below the prefix are another data directory's."""
        try:
            found = _try_again(self._read_owner)
        except SqlError as error:
            if error.sqlstate != "58P01":
                raise
            found = ""
        if found != identifier:
            message = f'the objects below "{self._address}" are not those of this data directory'
            raise GpudbError(message, condition="object_not_in_prerequisite_state")

    def _read_owner(self) -> str:
        with convert_store_errors(str(self._owner)), self._store.open_file(self._owner) as file:
            return bytes(file.read()).decode()

    @property
    def _owner(self) -> Address:
        return Address(self._address.scheme, f"{self._address.path}/{OWNER}")

    def fetch_metadata(self, current: Mapping[int, Path]) -> None:
        """See `TableFiles`: of the tables whose current metadata file is not here."""
        for oid, path in current.items():
            if not path.exists():
                below = self._store.list_below(self.locate(self._folder / str(oid) / "metadata"))
                there = {self._to_path(each.address) for each in below}
                self.fetch(there - {path})
                if path in there:  # else the table cannot be read
                    self.fetch([path])  # last: it says that all others are here

    def has_tables(self) -> bool:
        """See `TableFiles`."""
        return any(each.address != self._owner for each in self._store.list_below(self._address))

    def _to_path(self, address: Address) -> Path:
        return self._folder / address.path.removeprefix(f"{self._address.path}/")

    def remove_orphans(self, live: Mapping[int, frozenset[Path] | None], next_oid: int) -> None:
        """See `TableFiles`: in the background."""
        self._pool.submit(self._remove_orphans, live, next_oid)

    def _remove_orphans(self, live: Mapping[int, frozenset[Path] | None], next_oid: int) -> None:
        before = (time.time() - KEEP_ORPHANS_SECONDS) * 1e9
        versions = {oid: max(map(_read_version, kept), default=-1) for oid, kept in live.items() if kept is not None}
        try:
            orphans = []
            for each in self._store.list_below(self._address):
                path = self._to_path(each.address)
                folder = path.relative_to(self._folder).parts[0]
                oid = int(folder) if folder.isdigit() else None
                kept = frozenset[Path]() if oid is None else live.get(oid, frozenset())
                if kept is None or path in kept or each.address == self._owner:
                    continue
                if oid is not None and (oid >= next_oid or _read_version(path) > versions.get(oid, next_oid) + 1):
                    # A crash leaves the files of one commit at most.
                    _LOG.warning('"%s" is newer than the catalog: no objects of no table are removed', each.address)
                    return
                if each.changed < before:
                    orphans.append(each.address)
            if orphans:
                _LOG.warning('removing %d objects below "%s" that belong to no table', len(orphans), self._address)
                self._store.remove(orphans)
        except GpudbError as error:
            _LOG.warning('could not look for objects of no table below "%s": %s', self._address, error)

    def close(self) -> None:
        """See `TableFiles`: waits for removals, within CLOSE_SECONDS."""
        wait(list(self._removals), timeout=CLOSE_SECONDS)
        self._pool.shutdown(wait=False, cancel_futures=True)


def _read_version(path: Path) -> int:
    """Returns the version of a table that a metadata file is of; -1 for other files."""
    number = path.name.partition("-")[0]
    return int(number) if path.name.endswith(".metadata.json") and number.isdigit() else -1


def _try_again(read: Callable[[], _T]) -> _T:
    """Returns what a read returns, tried up to ATTEMPTS times: a failing answer's text ends pyarrow's own attempts."""
    for attempt in range(1, ATTEMPTS):
        try:
            return read()
        except GpudbError as error:
            if error.sqlstate != "58030":
                raise
            time.sleep(0.1 * 2**attempt)
    return read()


def open_table_files(directory: Path, url: str | None) -> TableFiles:
    """Returns where a data directory's tables lie; `url` is the address of their prefix, None what the directory says.

    A new directory, without tables, takes an address below which there are no objects, and remembers it. Raises 55000
    for another address than the directory's, for one with objects of others, and for a directory with tables of its
    own; 0A000 and 22023 for what is no address, and what `convert_store_errors` says.
    """
    marker = directory / TABLES_URL_FILE
    known = read_tables_url(directory)
    if known is None and url is None:
        return LocalTableFiles()
    address = None if url is None else _read_prefix(url)
    if known is not None:
        there, identifier = known
        if address is not None and str(address) != there:
            message = f'the tables of the data directory "{directory}" lie at "{there}"'
            raise GpudbError(message, condition="object_not_in_prerequisite_state")
        files = ObjectTableFiles(directory / "tables", _read_prefix(there))
        files.check_owner(identifier)
        return files
    assert address is not None
    if any((directory / "tables").iterdir()):
        message = f'the data directory "{directory}" has tables of its own'
        hint = "An address for tables is that of a new data directory."
        raise GpudbError(message, condition="object_not_in_prerequisite_state", hint=hint)
    files = ObjectTableFiles(directory / "tables", address)
    identifier = str(uuid.uuid4())
    files.claim(identifier, directory)
    create_file(marker)
    marker.write_text(f"{address}\n{identifier}\n")
    with marker.open("rb") as file:
        os.fsync(file.fileno())
    return files


def make_local(paths: Iterable[str]) -> None:
    """Fetches those data files of tables in an object storage that are not here, in any process of the machine.

    Raises XX001 for one that does not exist, and what `convert_store_errors` says. Other missing files are left to
    their readers.
    """
    missing = []
    for path in paths:
        if path not in _known_local:
            if os.path.exists(path):  # noqa: PTH110 - of thousands of files, each by its text
                _known_local.put(path, True)
            else:
                missing.append(Path(path))
    by_directory: dict[Path, list[Path]] = {}
    for each in missing:
        if len(each.parents) > 3:
            by_directory.setdefault(each.parents[3], []).append(each)
    for directory, wanted in by_directory.items():
        known = read_tables_url(directory)
        if known is not None:
            files = ObjectTableFiles(directory / "tables", _read_prefix(known[0]))
            try:
                files.fetch(wanted)
            finally:
                files.close()


def forget_local() -> None:
    """Forgets which files are here: they may go while no store has them open."""
    _known_local.clear()


def read_tables_url(directory: Path) -> tuple[str, str] | None:
    """Returns the address of a data directory's tables and its identifier; None for tables in the directory alone."""
    try:
        address, identifier = (directory / TABLES_URL_FILE).read_text().split()
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        message = f'could not read "{directory / TABLES_URL_FILE}": {error}'
        raise GpudbError(message, condition="data_corrupted") from error
    return address, identifier


def _read_prefix(url: str) -> Address:
    address = read_address(url.rstrip("/"))
    if has_pattern(address.path):
        raise SqlError.of("invalid_parameter_value", f'"{url}" is a pattern, not a prefix')
    return address
