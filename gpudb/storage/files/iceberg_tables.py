"""Iceberg tables of others, by pyiceberg: their columns, the files of a snapshot, and the rows that were deleted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.exceptions import NoSuchTableError, ValidationError
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import PyArrowFileIO, _read_all_delete_files, schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.serializers import FromInputFile
from pyiceberg.table import FileScanTask, StaticTable

from gpudb.catalog.file_tables import FileStamp, LakeGroup, LakeScan
from gpudb.errors import FeatureNotSupported, GpudbError, SqlError
from gpudb.storage.files.lake_places import Place
from gpudb.storage.files.reader_sql import get_reader_path
from gpudb.storage.files.schema import describe_arrow, list_field_ids
from gpudb.storage.load.files import damaged_file_error
from gpudb.storage.object_stores.connect import connect
from gpudb.storage.object_stores.errors import make_store_error

_METADATA = ".metadata.json"
_VERSION = re.compile(r"v?(\d+)[-.].*")
_NAME_MAPPING = "schema.name-mapping.default"


def open_iceberg(place: Place, options: Mapping[str, object]) -> tuple[Sequence[tuple[str, str]], LakeScan]:
    """Returns a table's columns and files. The place is its folder, or the file of its metadata."""
    try:
        return _open(place, options)
    except (GpudbError, MemoryError):
        raise
    except FileNotFoundError as error:
        raise SqlError.of("undefined_file", f'a file of Iceberg table "{place.root}" is missing: {error}') from None
    except NotImplementedError as error:
        raise FeatureNotSupported(f'Iceberg table "{place.root}" cannot be read: {error}') from None
    except (ValueError, ValidationError) as error:
        if "delete" in str(error).lower():
            raise FeatureNotSupported(f'Iceberg table "{place.root}" cannot be read: {error}') from None
        raise damaged_file_error(place.root, str(error).partition("\n")[0]) from None
    except OSError as error:
        if place.store is not None:
            raise make_store_error(place.root, str(error)) from None
        raise damaged_file_error(place.root, str(error)) from None
    except (KeyError, TypeError, EOFError, pa.ArrowException, NoSuchTableError) as error:
        raise damaged_file_error(place.root, str(error) or type(error).__name__) from None


def _open(place: Place, options: Mapping[str, object]) -> tuple[Sequence[tuple[str, str]], LakeScan]:
    location = _find_metadata(place)
    files = _open_files(place)
    metadata = FromInputFile.table_metadata(files.new_input(location))
    table = StaticTable(("", location), metadata, location, files, NoopCatalog("gpudb"))
    scan = table.scan(snapshot_id=_read_snapshot(options))
    schema = scan.projection()
    _check_nested_names(place, metadata.schemas, schema)
    held = describe_arrow(schema_to_pyarrow(schema, include_field_ids=False), place.root)
    tasks = list(scan.plan_files())
    stamps = {each.file.file_path: _stamp(place, each) for each in tasks}
    if _NAME_MAPPING in metadata.properties:
        _check_field_ids(place, list(stamps.values()))
    deleted = _read_deleted(files, tasks, stamps)
    groups = (LakeGroup(tuple(stamps.values())),) if stamps else ()
    return held, LakeScan(_list_keys(schema), groups, deleted)


def _find_metadata(place: Place) -> str:
    """Returns the file of a table's metadata: the newest by the number in its name."""
    if place.root.endswith(_METADATA):
        return place.root
    names = [each for each in place.list("metadata") if each.endswith(_METADATA)]
    numbered = [(int(match[1]), each) for each in names if (match := _VERSION.fullmatch(each)) is not None]
    if not numbered:
        raise SqlError.of("undefined_file", f'"{place.root}" is no table of Iceberg: it has no metadata')
    return f"{place.root}/metadata/{max(numbered)[1]}"


def _open_files(place: Place) -> FileIO:
    files = PyArrowFileIO()
    store = place.store
    if store is not None:
        # Credentials are those of the place, whatever the metadata say
        files.fs_by_scheme = lambda scheme, bucket: connect(store.scheme, bucket or "", store.options)
    return files


def _read_snapshot(options: Mapping[str, object]) -> int | None:
    given = options.get("snapshot_id")
    if given is None:
        return None
    if not str(given).isdecimal():
        raise SqlError.of("invalid_parameter_value", "snapshot_id is the number of a snapshot")
    return int(str(given))


def _stamp(place: Place, task: FileScanTask) -> FileStamp:
    if task.file.file_format.value != "PARQUET":
        raise FeatureNotSupported(f"Iceberg files of the format {task.file.file_format.value} cannot be read")
    return place.stamp(task.file.file_path, task.file.file_size_in_bytes)


def _check_field_ids(place: Place, stamps: Sequence[FileStamp]) -> None:
    """0A000 for files without the numbers of Iceberg's fields, which a name mapping may have added to a table."""
    for stamp, ids in zip(stamps, list_field_ids(stamps), strict=True):
        if not all(ids):
            message = f'file "{stamp.path}" of Iceberg table "{place.root}" has no field ids'
            raise FeatureNotSupported(message, hint="Name mappings are not supported: let its owner rewrite the file.")


def _list_keys(schema: Schema) -> dict[str, int | str]:
    for each in schema.fields:
        if each.initial_default is not None:
            raise FeatureNotSupported(f'column "{each.name}" has an initial default, which is not supported')
    return {each.name: each.field_id for each in schema.fields}


def _check_nested_names(place: Place, schemas: Sequence[Schema], current: Schema) -> None:
    """0A000 for a field within a column whose name was another, or another's: it is found by its name alone."""
    known: dict[int, tuple[int, str]] = {}
    owners: dict[tuple[int, str], int] = {}
    tops = {each.field_id for each in current.fields}
    for schema in (*schemas, current):
        for column in schema.fields:
            if column.field_id not in tops:
                continue
            for parent, field in _iter_nested(column.field_id, column.field_type):
                place_in = parent, field.name
                if (
                    known.setdefault(field.field_id, place_in) != place_in
                    or owners.setdefault(place_in, field.field_id) != field.field_id
                ):
                    message = f'column "{column.name}" of Iceberg table "{place.root}" has renamed fields'
                    raise FeatureNotSupported(f"{message}, which is not supported")


def _iter_nested(parent: int, kind: Any) -> Iterator[tuple[int, Any]]:
    """Yields the fields within a type, each with the field that has it."""
    named = (getattr(kind, name, None) for name in ("element_field", "key_field", "value_field"))
    for field in (*getattr(kind, "fields", ()), *(each for each in named if each is not None)):
        yield parent, field
        yield from _iter_nested(field.field_id, field.field_type)


def _read_deleted(files: FileIO, tasks: Sequence[FileScanTask], stamps: Mapping[str, FileStamp]) -> pa.Table | None:
    """Returns the rows of position deletes and deletion vectors; None if there are none."""
    found: dict[str, list[Any]] = _read_all_delete_files(files, tasks)
    parts = []
    for path, positions in found.items():
        if path in stamps:
            rows = pa.chunked_array([chunk for each in positions for chunk in each.chunks], pa.int64())
            names = pa.array([get_reader_path(stamps[path])]).dictionary_encode().take(pa.array([0] * len(rows)))
            parts.append(pa.table({"file": names.cast(pa.string()), "row": rows}))
    return pa.concat_tables(parts) if parts else None
