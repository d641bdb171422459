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
from typing import Protocol

from gpudb.errors import GpudbError, SqlError
from gpudb.lru import LruCache
from gpudb.storage.object_stores.addresses import Address, has_pattern, read_address
from gpudb.storage.object_stores.options import read_environment
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

    def remove_orphans(self, live: Mapping[int, frozenset[Path] | None]) -> None:
        """Removes old files outside the data directory that no table names; None stands for all of a table's."""

    def close(self) -> None:
        """Ends what is under way."""


class LocalTableFiles:
    """Files that lie in the data directory alone; their writers have synced them."""

    url = None

    def __init__(self, remove: Callable[[Path], None]) -> None:
        """`remove` removes a file or folder."""
        self.remove = remove

    def withdraw(self, paths: Iterable[Path]) -> None:
        """See `TableFiles`."""

    def publish(self, paths: Iterable[Path]) -> None:
        """See `TableFiles`."""

    def fetch_metadata(self, current: Mapping[int, Path]) -> None:
        """See `TableFiles`."""

    def remove_orphans(self, live: Mapping[int, frozenset[Path] | None]) -> None:
        """See `TableFiles`."""

    def close(self) -> None:
        """See `TableFiles`."""


class ObjectTableFiles:
    """Files that lie in an object storage, of which the folder `tables` has copies."""

    def __init__(self, folder: Path, address: Address, remove: Callable[[Path], None]) -> None:
        """`folder` has the copies; `remove` removes a local file or folder."""
        self.url: str | None = str(address)
        self._folder = folder
        self._address = address
        self._store = ObjectStore(address.scheme, read_environment(address.scheme))
        self._remove_local = remove
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
        self._remove_local(path)
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
            with self._store.open_file(self.locate(path)) as source, partial.open("wb") as target:
                shutil.copyfileobj(source, target, _PIECE_BYTES)
                target.flush()
                os.fsync(target.fileno())
            partial.replace(path)
        except SqlError as error:
            if error.sqlstate == "58P01":
                message = f'data file "{self.locate(path)}" does not exist'
                raise GpudbError(message, condition="data_corrupted") from error
            raise
        except OSError as error:
            raise GpudbError(f'could not fetch "{self.locate(path)}": {error}', condition="io_error") from error
        finally:
            partial.unlink(missing_ok=True)

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
            with self._store.open_file(self._owner) as file:
                found = file.read().decode()
        except SqlError as error:
            if error.sqlstate != "58P01":
                raise
            found = ""
        if found != identifier:
            message = f'the objects below "{self._address}" are not those of this data directory'
            raise GpudbError(message, condition="object_not_in_prerequisite_state")

    @property
    def _owner(self) -> Address:
        return Address(self._address.scheme, f"{self._address.path}/{OWNER}")

    def fetch_metadata(self, current: Mapping[int, Path]) -> None:
        """See `TableFiles`: of the tables whose current metadata file is not here."""
        for oid, path in current.items():
            if not path.exists():
                below = self._store.list_below(self.locate(self._folder / str(oid) / "metadata"))
                self.fetch(self._to_path(each.address) for each in below)

    def _to_path(self, address: Address) -> Path:
        return self._folder / address.path.removeprefix(f"{self._address.path}/")

    def remove_orphans(self, live: Mapping[int, frozenset[Path] | None]) -> None:
        """See `TableFiles`: in the background."""
        self._pool.submit(self._remove_orphans, live)

    def _remove_orphans(self, live: Mapping[int, frozenset[Path] | None]) -> None:
        before = (time.time() - KEEP_ORPHANS_SECONDS) * 1e9
        try:
            orphans = []
            for each in self._store.list_below(self._address):
                path = self._to_path(each.address)
                folder = path.relative_to(self._folder).parts[0]
                kept = live.get(int(folder), frozenset()) if folder.isdigit() else None
                if kept is not None and path not in kept and each.changed < before:
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


def open_table_files(directory: Path, url: str | None, remove: Callable[[Path], None]) -> TableFiles:
    """Returns where a data directory's tables lie; `url` is the address of their prefix, None what the directory says.

    A new directory, without tables, takes an address below which there are no objects, and remembers it. Raises 55000
    for another address than the directory's, for one with objects of others, and for a directory with tables of its
    own; 0A000 and 22023 for what is no address, and what `convert_store_errors` says.
    """
    marker = directory / TABLES_URL_FILE
    known = read_tables_url(directory)
    if known is None and url is None:
        return LocalTableFiles(remove)
    address = None if url is None else _read_prefix(url)
    if known is not None:
        there, identifier = known
        if address is not None and str(address) != there:
            message = f'the tables of the data directory "{directory}" lie at "{there}"'
            raise GpudbError(message, condition="object_not_in_prerequisite_state")
        files = ObjectTableFiles(directory / "tables", _read_prefix(there), remove)
        files.check_owner(identifier)
        return files
    assert address is not None
    if any((directory / "tables").iterdir()):
        message = f'the data directory "{directory}" has tables of its own'
        hint = "An address for tables is that of a new data directory."
        raise GpudbError(message, condition="object_not_in_prerequisite_state", hint=hint)
    files = ObjectTableFiles(directory / "tables", address, remove)
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
            files = ObjectTableFiles(directory / "tables", _read_prefix(known[0]), lambda path: None)
            try:
                files.fetch(wanted)
            finally:
                files.close()


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
