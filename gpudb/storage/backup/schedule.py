"""Backups at intervals while a store is open, and the removal of old ones."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

from gpudb.errors import GpudbError
from gpudb.storage.backup.destination import open_destination
from gpudb.storage.backup.manifest import BACKUPS, FILES, list_manifests
from gpudb.storage.backup.write import back_up
from gpudb.storage.store import Store

_LOG = logging.getLogger(__name__)


class BackupSchedule:
    """A thread that backs a store up every `interval` seconds and keeps the last `keep` backups (None: all)."""

    def __init__(self, store: Store, destination: str | Path, interval: float, keep: int | None = None) -> None:
        self._store, self._destination = store, destination
        self._interval, self._keep = interval, keep
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="backup", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stops the schedule; a backup that is being written is abandoned."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(self._interval):
            if not self._store.leads:
                continue  # another coordinator writes it
            try:
                result = back_up(self._store, self._destination, check=self._check)
                if self._keep is not None:
                    prune(self._destination, self._keep)
            except _Stopped:
                return
            except (GpudbError, OSError) as error:
                _LOG.error('the backup to "%s" failed: %s', self._destination, error)
            else:
                _LOG.info("backup %s: %d new files", result.manifest.id, result.copied_files)

    def _check(self) -> None:
        if self._stopped.is_set():
            raise _Stopped


class _Stopped(Exception):
    """Raised where a backup is abandoned."""


def prune(where: str | Path, keep: int) -> int:
    """Removes all but the last `keep` backups of a folder or URL, and the files that only those held; returns their
    number.
    """
    destination = open_destination(where)
    manifests = list_manifests(destination)
    kept = manifests[-keep:] if keep else []
    old = manifests[: len(manifests) - len(kept)]
    needed = {name for manifest in kept for name in manifest.files}
    # Manifests first: a backup whose files are being removed is none.
    destination.remove([f"{BACKUPS}/{manifest.id}.json" for manifest in old])
    destination.remove([manifest.catalog_name for manifest in old])
    unneeded = sorted({name for manifest in old for name in manifest.files} - needed)
    destination.remove([f"{FILES}/{name}" for name in unneeded])
    return len(old)
