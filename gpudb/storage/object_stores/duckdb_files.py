"""Objects as files of DuckDB, by paths `gpudb://number of the store/s3/bucket/key`.

An object is opened once, by its size and time of change, for all statements that read it.
"""

from __future__ import annotations

import itertools
import re
import threading

import pyarrow as pa

from gpudb.errors import GpudbError
from gpudb.lru import LruCache
from gpudb.storage.object_stores.addresses import Address
from gpudb.storage.object_stores.store import ObjectStore, StoredObject

PROTOCOL = "gpudb"
_SHOWN = re.compile(rf"{PROTOCOL}://\d+/([a-z0-9]+)/")
_FAILURE = re.compile(r"gpudb failure #(\d+)")

_numbers: dict[ObjectStore, int] = {}
_stores: dict[int, ObjectStore] = {}
_known: LruCache[tuple[int, str], StoredObject] = LruCache(1 << 16)
_opened: LruCache[tuple[int, StoredObject], pa.NativeFile] = LruCache(256)
_failures: LruCache[int, GpudbError] = LruCache(256)
_next_failure = itertools.count(1)
_lock = threading.Lock()


def get_number(store: ObjectStore) -> int:
    """Returns the number of a store in this process."""
    with _lock:
        number = _numbers.setdefault(store, len(_numbers) + 1)
        _stores[number] = store
        return number


def get_store(number: int) -> ObjectStore:
    """Returns the store of a number."""
    return _stores[number]


def make_path(number: int, address: Address) -> str:
    """Returns the path under which DuckDB opens an object of a store."""
    return f"{PROTOCOL}://{number}/{address.scheme}/{address.path}"


def show_addresses(text: str) -> str:
    """Returns a text of DuckDB with addresses in the place of the paths of objects."""
    return _SHOWN.sub(r"\1://", text)


def remember(number: int, held: StoredObject) -> None:
    """Records an object as it is now: DuckDB reads it like that."""
    _known.put((number, held.address.path), held)


def open_object(number: int, held: StoredObject) -> pa.NativeFile:
    """Returns an object that is read at any position, by any number of threads."""
    known = _opened.get((number, held))
    if known is None or known.closed:
        known = _stores[number].open_file(held.address)
        _opened.put((number, held), known)
    return known


def find_store_failure(text: str) -> GpudbError | None:
    """Returns the error of an object storage that DuckDB passes on by its text; None for another text."""
    found = _FAILURE.search(text)
    return None if found is None else _failures.get(int(found[1]))


def record_failure(error: GpudbError) -> str:
    """Returns a text for DuckDB to pass on, by which `find_store_failure` returns an error."""
    number = next(_next_failure)
    _failures.put(number, error)
    return f"gpudb failure #{number}"


def get_object(number: int, address: Address) -> StoredObject:
    """Returns an object as it was recorded, or else as it is now."""
    known = _known.get((number, address.path))
    if known is None:
        known = _stores[number].stat(address)
        remember(number, known)
    return known
