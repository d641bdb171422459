"""The folder lost+found: files that no table's metadata names, kept until an age or a command removes them.

DIR/lost+found/20261125T184500Z-1/OID/data/*.parquet    moved there at one opening, with their paths below tables/
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import shutil
import stat
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from gpudb.storage.private_files import make_directory

NAME = "lost+found"
KEEP_SECONDS = 7 * 24 * 3600.0
"""Age at which an opening removes what an earlier one moved here."""
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LostFiles:
    """What one opening moved to lost+found. `age` is in seconds."""

    folder: Path
    files: int
    bytes: int
    age: float


def move_orphans(
    tables: Path, live: Mapping[int, frozenset[Path] | None], among: Collection[Path] | None = None
) -> int:
    """Moves every file below `tables` that no table's metadata names to lost+found; returns their number.

    `live` maps each table's OID, the name of its folder, to its files; None keeps all files of that folder. Only those
    `among` the given files are moved, if any are given.
    """
    orphans = [path for path in _find_orphans(tables, live) if among is None or path in among]
    if not orphans:
        return 0
    target = _new_folder(tables.parent / NAME)
    for path in orphans:
        moved = target / path.relative_to(tables)
        make_directory(moved.parent)
        path.rename(moved)
    if among is None:
        _remove_empty_folders(tables, live)
    _LOG.warning('moved %d files that belong to no table to "%s"', len(orphans), target)
    return len(orphans)


def list_old_files(tables: Path, age: float) -> set[Path]:
    """Returns the files below `tables` that were written, or put there, at least `age` seconds ago."""
    before = time.time() - age
    found = set()
    for path in tables.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            status = path.stat()
            if stat.S_ISREG(status.st_mode) and max(status.st_mtime, status.st_ctime) < before:
                found.add(path)
    return found


def list_lost_files(directory: Path) -> list[LostFiles]:
    """Returns what is in a data directory's lost+found, oldest first."""
    root = directory / NAME
    if not root.is_dir():
        return []
    now = time.time()
    found = []
    for folder in sorted(root.iterdir()):
        files = [path for path in folder.rglob("*") if path.is_file()]
        age = now - folder.stat().st_mtime
        found.append(LostFiles(folder, len(files), sum(path.stat().st_size for path in files), age))
    return found


def purge(directory: Path, older_than: float) -> int:
    """Removes what was moved to lost+found at least `older_than` seconds ago; returns the number of files."""
    removed = 0
    for lost in list_lost_files(directory):
        if lost.age >= older_than:
            shutil.rmtree(lost.folder)
            removed += lost.files
    return removed


def _find_orphans(tables: Path, live: Mapping[int, frozenset[Path] | None]) -> Iterator[Path]:
    for folder in tables.iterdir():
        if not folder.is_dir():
            yield folder
            continue
        oid = int(folder.name) if folder.name.isdigit() else -1
        keep = live.get(oid, frozenset())
        if keep is not None:
            yield from (path for path in folder.rglob("*") if not path.is_dir() and path not in keep)


def _remove_empty_folders(tables: Path, live: Mapping[int, frozenset[Path] | None]) -> None:
    for folder in tables.iterdir():
        unknown = folder.is_dir() and not (folder.name.isdigit() and int(folder.name) in live)
        if unknown and not any(path.is_file() for path in folder.rglob("*")):
            shutil.rmtree(folder, ignore_errors=True)


def _new_folder(root: Path) -> Path:
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    for number in itertools.count(1):
        folder = root / f"{stamp}-{number}"
        if not folder.exists():
            make_directory(folder)
            return folder
    raise AssertionError
