"""Appends of other programs through the Iceberg REST catalog: files that they wrote into a table's folder.

A commit is one transaction of its role, which takes copies of the new data files as add_files does.
"""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

from pyiceberg.manifest import (
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntryStatus,
    ManifestFile,
    read_manifest_list,
)

from gpudb.catalog.model import Catalog
from gpudb.errors import FeatureNotSupported, GpudbError, SqlError
from gpudb.server.http.iceberg.namespaces import load_table
from gpudb.session.database import Database
from gpudb.storage.iceberg.disk_files import DiskInput, RelocatedIO

MAX_COMMIT = 1 << 24

_FILE = "file://"
_WAIT_SECONDS = 30.0
_lock = threading.Lock()
"""Held from the check of a commit's requirements to its end: of two commits on one snapshot, the second fails."""


def append(database: Database, catalog: Catalog, role: str, schema: str, name: str, content: bytes) -> dict[str, Any]:
    """Appends the files of a CommitTableRequest; returns the table's new metadata as `load_table` does.

    Raises 42P01; 22023 for a request that cannot be read; 0A000 for changes that are no appends and tables that cannot
    be named; 40001 if a requirement does not hold; 42501 without INSERT; what add_files raises for files.
    """
    request = _read_request(content)
    if not _lock.acquire(timeout=_WAIT_SECONDS):
        raise _conflict("another append has not ended")
    try:
        metadata = load_table(database.store, catalog, role, schema, name)["metadata"]
        snapshot = _find_snapshot(request)
        for each in _objects(request, "requirements"):
            _check_requirement(each, metadata)
        location = str(metadata["location"])
        if not location.startswith(_FILE):
            raise FeatureNotSupported("appends to tables in an object storage are not supported")
        files = _list_files(snapshot, Path(location.removeprefix(_FILE)).resolve())
        if files:
            _add_files(database, catalog.database, role, f"{_quoted(schema)}.{_quoted(name)}", files)
        return load_table(database.store, database.store.catalog(catalog.database), role, schema, name)
    finally:
        _lock.release()


def _add_files(database: Database, database_name: str, role: str, table: str, files: list[Path]) -> None:
    session = database.session(role, database=database_name)
    try:
        calls = (f"SELECT add_files({_literal(table)}, {_literal(str(file))})" for file in files)
        for statement in ("BEGIN", *calls, "COMMIT"):
            for result in session.run(statement):
                for _ in result.batches:
                    pass
    finally:
        session.close()


def _read_request(content: bytes) -> dict[str, Any]:
    try:
        request = json.loads(content)
    except (ValueError, RecursionError):
        request = None
    if not isinstance(request, dict):
        raise _invalid("the commit is not a JSON object")
    return request


def _objects(request: dict[str, Any], name: str) -> list[dict[str, Any]]:
    found = request.get(name, [])
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise _invalid(f'"{name}" is not a list of objects')
    return found


def _find_snapshot(request: dict[str, Any]) -> dict[str, Any]:
    """Returns the snapshot of the one append that a request has."""
    updates = _objects(request, "updates")
    actions = sorted(str(each.get("action")) for each in updates)
    if actions != ["add-snapshot", "set-snapshot-ref"]:
        message = f"a commit of {', '.join(actions) or 'no updates'} is not supported: the catalog takes appends alone"
        raise FeatureNotSupported(message, hint="Change tables by SQL.")
    by_action = {each["action"]: each for each in updates}
    snapshot, reference = by_action["add-snapshot"].get("snapshot"), by_action["set-snapshot-ref"]
    if not isinstance(snapshot, dict) or not isinstance(snapshot.get("snapshot-id"), int):
        raise _invalid("the commit has no snapshot")
    summary = snapshot.get("summary")
    operation = summary.get("operation") if isinstance(summary, dict) else None
    if operation != "append":
        raise FeatureNotSupported(f"a snapshot of operation {operation} is not supported", hint="Use SQL.")
    if (reference.get("ref-name"), reference.get("type")) != ("main", "branch"):
        raise FeatureNotSupported("branches and tags are not supported")
    if reference.get("snapshot-id") != snapshot["snapshot-id"]:
        raise FeatureNotSupported("a branch at another snapshot than the new one is not supported")
    return snapshot


def _check_requirement(requirement: dict[str, Any], metadata: dict[str, Any]) -> None:
    kind = requirement.get("type")
    if kind == "assert-table-uuid":
        holds = str(requirement.get("uuid")) == str(metadata["table-uuid"])
    elif kind == "assert-ref-snapshot-id" and requirement.get("ref") == "main":
        current = metadata.get("current-snapshot-id")
        holds = requirement.get("snapshot-id") == (None if current == -1 else current)
    elif kind == "assert-current-schema-id":
        holds = requirement.get("current-schema-id") == metadata["current-schema-id"]
    else:
        raise FeatureNotSupported(f"the requirement {kind} is not supported")
    if not holds:
        raise _conflict(f"{kind} does not hold: the table has changed")


def _list_files(snapshot: dict[str, Any], folder: Path) -> list[Path]:
    """Returns the data files that a snapshot adds, all below a table's folder."""
    try:
        manifests = list(read_manifest_list(DiskInput(_resolve(snapshot.get("manifest-list"), folder))))
        return [file for each in manifests for file in _list_added(each, snapshot["snapshot-id"], folder)]
    except GpudbError:
        raise
    except Exception as error:
        # What a damaged Avro file raises is not listed anywhere
        raise _invalid(f"a manifest of the snapshot cannot be read: {type(error).__name__}") from error


def _list_added(manifest: ManifestFile, snapshot_id: int, folder: Path) -> list[Path]:
    if manifest.added_snapshot_id != snapshot_id:
        return []
    if manifest.content != ManifestContent.DATA:
        raise FeatureNotSupported("delete files are not supported in an append")
    reader: Any = RelocatedIO(_resolve(manifest.manifest_path, folder))
    found = []
    for entry in manifest.fetch_manifest_entry(reader, discard_deleted=False):
        if entry.status == ManifestEntryStatus.DELETED:
            raise FeatureNotSupported("an append that removes files is not supported")
        if entry.status == ManifestEntryStatus.ADDED:
            file = entry.data_file
            if file.content != DataFileContent.DATA or file.file_format != FileFormat.PARQUET:
                raise FeatureNotSupported(f'file "{file.file_path}" is not a Parquet file of rows')
            found.append(_resolve(file.file_path, folder))
    return found


def _resolve(uri: object, folder: Path) -> Path:
    """Returns the path of a file below a table's folder; 42501 for others, 22023 for one that is not there."""
    path = Path(str(uri).removeprefix(_FILE)).resolve()
    if not path.is_relative_to(folder):
        raise SqlError.of("insufficient_privilege", f'file "{uri}" is not below the location of the table')
    if not path.is_file():
        raise _invalid(f'file "{uri}" does not exist')
    return path


def _quoted(name: str) -> str:
    if "." in name or '"' in name:
        raise FeatureNotSupported(f'appends to a table named "{name}" are not supported')
    return f'"{name}"'


def _literal(text: str) -> str:
    if "\\" in text:
        raise FeatureNotSupported("names with a backslash are not supported")
    return "'" + text.replace("'", "''") + "'"


def _conflict(message: str) -> GpudbError:
    return SqlError.of("serialization_failure", message)


def _invalid(message: str) -> GpudbError:
    return SqlError.of("invalid_parameter_value", message)
