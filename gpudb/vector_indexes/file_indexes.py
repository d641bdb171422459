"""The indexes of data files, in a folder: built once for each file, by child processes, and found again after a start.

FOLDER/NAME/path       the data file that the indexes in this folder belong to; NAME is that of the file
FOLDER/NAME/N-DIGEST   the index of the column with field id N by the definition with this digest

Data files never change, and neither do their indexes. A folder whose data file is gone is removed.
"""

from __future__ import annotations

import contextlib
import logging
import shutil
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from gpudb.errors import FeatureNotSupported, GpudbError
from gpudb.lru import LruCache
from gpudb.processes.pool import ProcessPool
from gpudb.vector_indexes.definition import IndexDefinition
from gpudb.vector_indexes.graphs import METRICS, Graph
from gpudb.vector_indexes.lists import Lists
from gpudb.vector_indexes.rows import Found, Matrix

MIN_ROWS = 1000
"""Rows from which on a file gets an index; those of smaller files are all compared."""
_CHECK_SECONDS = 5.0
_RETRY_SECONDS = 60.0
"""Time for which an index that could not be built is not tried again."""
_OPEN = 256
_LOG = logging.getLogger(__name__)
_POOL = ProcessPool("gpudb.vector_indexes.building", most=1)


def explain_lack(definition: IndexDefinition) -> str | None:
    """Returns why no index of a definition can be built here; None if it can."""
    if definition.is_graph and definition.metric not in METRICS:
        return f"{definition.method} indexes of {definition.metric} distances are not supported."
    needed, package = ("usearch", "usearch") if definition.is_graph else ("sklearn", "scikit-learn")
    if find_spec(needed) is None:
        return f"This needs {package}, which gpudb-sql[analytics] installs."
    return None


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """A column of a data file: its path, its rows, and the column's field id."""

    path: str
    rows: int
    field_id: int


class FileIndexes:
    """The indexes in a folder. Thread-safe; one index is built at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._builds: dict[Path, Future[None]] = {}
        self._failed: dict[Path, float] = {}
        self._open: LruCache[Path, Graph | Lists] = LruCache(_OPEN)
        self._builder = ThreadPoolExecutor(1, "gpudb-vector-indexes")
        self._next_check = 0.0
        self._closed = False
        self.sweep()

    def search(
        self, file: IndexedFile, definition: IndexDefinition, query: Matrix, count: int, breadth: int
    ) -> Found | None:
        """Returns the nearest rows of a file by its index; None without one.

        An index that is missing is built in the background.
        """
        index = self._find(file, definition)
        if index is None:
            self.start(file, definition)
            return None
        return index.search(query, count, breadth)

    def has(self, file: IndexedFile, definition: IndexDefinition) -> bool:
        """Returns whether a file's index is built."""
        return self._path(file, definition).exists()

    def build(self, files: Iterable[IndexedFile], definition: IndexDefinition, wanted: Callable[[], None]) -> None:
        """Builds the indexes of files, and returns once they are there. What `wanted` raises ends the wait."""
        for future in [self.start(file, definition) for file in files if file.rows >= MIN_ROWS]:
            while future is not None and not future.done():
                wanted()
                with contextlib.suppress(TimeoutError):
                    future.result(0.05)
            if future is not None:
                future.result()

    def start(self, file: IndexedFile, definition: IndexDefinition) -> Future[None] | None:
        """Starts to build a file's index; None if it is there, or could not be built a moment ago."""
        path = self._path(file, definition)
        with self._lock:
            if self._closed or path.exists() or time.monotonic() < self._failed.get(path, 0.0):
                return None
            future = self._builds.get(path)
            if future is None:
                future = self._builds[path] = self._builder.submit(self._build, file, definition, path)
            return future

    def _build(self, file: IndexedFile, definition: IndexDefinition, path: Path) -> None:
        made = path.with_suffix(".new")
        try:
            self._check_open()
            path.parent.mkdir(0o700, parents=True, exist_ok=True)
            (path.parent / "path").write_text(file.path)
            _POOL.call("build_index", (file.path, file.field_id, definition, str(made)), self._check_open)
            made.rename(path)
        except BaseException as error:
            made.unlink(missing_ok=True)
            with self._lock:
                self._failed[path] = time.monotonic() + _RETRY_SECONDS
            if isinstance(error, GpudbError | OSError):
                _LOG.warning("an index of vectors could not be built: %s", error)
            raise
        finally:
            with self._lock:
                self._builds.pop(path, None)
            self.sweep()

    def _check_open(self) -> None:
        if self._closed:
            raise FeatureNotSupported("the database is closed")

    def _find(self, file: IndexedFile, definition: IndexDefinition) -> Graph | Lists | None:
        path = self._path(file, definition)
        found = self._open.get(path)
        if found is None and path.exists():
            try:
                found = (Graph if definition.is_graph else Lists).open(str(path), definition)
            except Exception as error:  # the library's own, of a damaged file
                _LOG.warning("an index of vectors is damaged, and is built again: %s", error)
                path.unlink(missing_ok=True)
                return None
            self._open.put(path, found)
        return found

    def _path(self, file: IndexedFile, definition: IndexDefinition) -> Path:
        return self._folder / Path(file.path).stem / f"{file.field_id}-{definition.digest}"

    def drop(self, files: Iterable[IndexedFile], definition: IndexDefinition) -> None:
        """Removes the indexes of files."""
        for file in files:
            path = self._path(file, definition)
            self._open.pop(path)
            path.unlink(missing_ok=True)

    def sweep(self) -> None:
        """Removes the indexes of data files that are gone, at most once every few seconds."""
        now = time.monotonic()
        if now < self._next_check:
            return
        self._next_check = now + _CHECK_SECONDS
        with contextlib.suppress(OSError):
            for folder in self._folder.iterdir():
                known = folder / "path"
                if known.exists() and not Path(known.read_text()).exists():
                    shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """Ends what is being built."""
        with self._lock:
            self._closed = True
        self._builder.shutdown(wait=True, cancel_futures=True)
