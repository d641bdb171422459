"""`gpudb backup`, `restore` and `verify-backup`: copies of a data directory, made while it is served."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import gpudb.api
from gpudb.cli.output import format_size
from gpudb.errors import GpudbError
from gpudb.functions.text_literal import quote_literal


def backup(target: str | Path, destination: str | Path) -> None:
    """Adds a backup of a server (a URL), or of a data directory that none has open, to a folder or URL."""
    from gpudb.storage.backup.destination import is_url, open_destination
    from gpudb.storage.backup.manifest import find_manifest

    folder = open_destination(destination).folder
    with gpudb.api.connect(target) as connection:
        argument = quote_literal(str(destination if folder is None else folder))
        ((result,),) = connection.execute(f"SELECT gpudb_backup({argument})").fetchall()
    copied = int(str(result))
    if folder is None and is_url(str(target)):  # credentials for the URL are the server's
        print(f"backed up to {destination}, {format_size(copied)} copied")
        return
    try:
        manifest = find_manifest(destination)
    except GpudbError:  # the server's machine is another one
        print(f"backed up to {destination} on the server, {format_size(copied)} copied")
        return
    size = format_size(manifest.bytes)
    print(f"backup {manifest.id}: {len(manifest.files)} files, {size}, of which {format_size(copied)} copied")
    for path in manifest.external:
        print(f'not included: "{path}", which was added without a copy')


def restore(source: str | Path, directory: Path, *, id: str | None, at: str | None, in_place: bool = False) -> None:
    """Restores a backup, by its ID or the last one, or the database of a moment (ISO 8601), into a new directory.

    With `in_place` the directory may be a data directory, which is kept under another name.
    """
    from gpudb.storage.backup.manifest import find_manifest
    from gpudb.storage.backup.point_in_time import find_reaching
    from gpudb.storage.backup.restore import restore as run
    from gpudb.storage.backup.restore import restore_in_place

    moment = None if at is None else _parse_time(at)
    manifest = find_manifest(source, id=id) if moment is None else find_reaching(source, moment)
    kept = None
    if in_place:
        kept = restore_in_place(source, manifest, directory, moment)
    else:
        run(source, manifest, directory, moment)
    if moment is not None:
        print(f"the state is that of {moment.isoformat()}")
    print(f"restored backup {manifest.id} of commit {manifest.commit}: {len(manifest.files)} files")
    if kept is not None:
        print(f"what was there is in {kept}")


def verify(source: str | Path) -> int:
    """Verifies all backups of a folder or URL and lists them; returns 1 if a file is missing or damaged, else 0."""
    from gpudb.storage.backup.manifest import list_manifests
    from gpudb.storage.backup.restore import verify as run

    manifests = list_manifests(source)
    problems = list(run(source, manifests))
    broken = {id for id, _ in problems}
    for _, problem in problems:
        print(problem)
    for manifest in manifests:
        state = "damaged" if manifest.id in broken else "sound"
        contents = f"{len(manifest.files)} files, {format_size(manifest.bytes)}"
        print(f"{manifest.id}  commit {manifest.commit}, {contents}: {state}")
    return 1 if problems else 0


def _parse_time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).astimezone()
    except ValueError as error:
        message = f'"{text}" is not a time such as 2026-11-25T18:30:00+00:00'
        raise GpudbError(message, condition="invalid_datetime_format") from error
