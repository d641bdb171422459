"""Delta tables of others, by delta-rs: their columns, the files of a version, and the rows that were deleted."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from gpudb.catalog.file_tables import FileStamp, LakeGroup, LakeScan
from gpudb.errors import FeatureNotSupported, GpudbError, SqlError
from gpudb.storage.files.lake_places import Place
from gpudb.storage.files.reader_sql import get_reader_path
from gpudb.storage.files.schema import describe_arrow
from gpudb.storage.load.files import damaged_file_error
from gpudb.storage.object_stores.options import StoreOptions

_FEATURES = frozenset(
    {
        "columnMapping",
        "deletionVectors",
        "timestampNtz",
        "typeWidening",
        "typeWidening-preview",
        "v2Checkpoint",
        "vacuumProtocolCheck",
    }
)
_READER_VERSIONS = 3
_PHYSICAL = "delta.columnMapping.physicalName"


def open_delta(place: Place, options: Mapping[str, object]) -> tuple[Sequence[tuple[str, str]], LakeScan]:
    """Returns a table's columns and files; 0A000 without the package deltalake."""
    try:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError, TableNotFoundError
    except ImportError:
        message = "reading Delta tables needs the package deltalake"
        raise FeatureNotSupported(message, hint="Install gpudb-sql[delta].") from None
    try:
        table = DeltaTable(place.root, version=_read_version(options), storage_options=_make_options(place))
        return _read(place, table)
    except TableNotFoundError:
        raise SqlError.of("undefined_file", f'"{place.root}" is no Delta table, or lacks that version') from None
    except GpudbError:
        raise
    except (DeltaError, OSError, ValueError, pa.ArrowException) as error:
        raise _as_error(place, str(error)) from None


def _as_error(place: Place, text: str) -> GpudbError:
    # The library's text may have the address of an endpoint and what it answered
    if place.store is None:
        return damaged_file_error(place.root, text.partition("\n")[0])
    for mark, condition, reason in (
        ("403", "insufficient_privilege", "permission denied"),
        ("401", "invalid_authorization_specification", "the credentials are not valid"),
        ("InvalidAccessKeyId", "invalid_authorization_specification", "the credentials are not valid"),
        ("SignatureDoesNotMatch", "invalid_authorization_specification", "the credentials are not valid"),
        ("NoSuchBucket", "undefined_file", "there is no such bucket"),
        ("404", "undefined_file", "there is no such object"),
    ):
        if mark in text:
            return SqlError.of(condition, f'could not open Delta table "{place.root}": {reason}')
    return SqlError.of("io_error", f'could not read Delta table "{place.root}"')


def _read(place: Place, table: Any) -> tuple[Sequence[tuple[str, str]], LakeScan]:
    protocol = table.protocol()
    unknown = set(protocol.reader_features or ()) - _FEATURES
    if unknown or protocol.min_reader_version > _READER_VERSIONS:
        needed = ", ".join(sorted(unknown)) or f"reader version {protocol.min_reader_version}"
        raise FeatureNotSupported(f'Delta table "{place.root}" needs {needed}, which is not supported')
    schema = table.schema()
    keys = {each.name: str(each.metadata.get(_PHYSICAL, each.name)) for each in schema.fields}
    _check_nested_names(place, schema)
    held = describe_arrow(pa.schema(schema.to_arrow()), place.root)
    partitions = list(table.metadata().partition_columns)
    actions = pa.table(table.get_add_actions(flatten=True))
    stamps = {
        path: _stamp(place, path, size)
        for path, size in zip(actions.column("path").to_pylist(), actions.column("size_bytes").to_pylist(), strict=True)
    }
    groups: dict[tuple[str | None, ...], list[FileStamp]] = {}
    values = [actions.column(f"partition.{keys[name]}").to_pylist() for name in partitions]
    for stamp, row in zip(stamps.values(), zip(*values, strict=True) if values else ((),) * len(stamps), strict=True):
        groups.setdefault(tuple(None if each is None else _as_text(each) for each in row), []).append(stamp)
    listed = tuple(LakeGroup(tuple(files), dict(zip(partitions, row, strict=True))) for row, files in groups.items())
    return held, LakeScan({**keys}, listed, _read_deleted(place, table, protocol))


def _check_nested_names(place: Place, schema: Any) -> None:
    """0A000 for a field within a column that has another name in files: it is found by its name alone."""
    for column in json.loads(schema.to_json())["fields"]:
        for field in _iter_fields(column["type"]):
            if field.get("metadata", {}).get(_PHYSICAL, field["name"]) != field["name"]:
                message = f'column "{column["name"]}" of Delta table "{place.root}" has renamed fields'
                raise FeatureNotSupported(f"{message}, which is not supported")


def _iter_fields(kind: Any) -> Iterator[dict[str, Any]]:
    """Yields the fields within a type of Delta's JSON."""
    if isinstance(kind, dict):
        for field in kind.get("fields", ()):
            yield field
            yield from _iter_fields(field["type"])
        for name in ("elementType", "keyType", "valueType"):
            yield from _iter_fields(kind.get(name))


def _stamp(place: Place, path: str, size: int) -> FileStamp:
    name = unquote(path)
    if "://" in name or name.startswith("/"):
        raise FeatureNotSupported(f'Delta table "{place.root}" has files elsewhere, which is not supported')
    return place.stamp(f"{place.root}/{name}", size)


def _as_text(value: object) -> str:
    if isinstance(value, bytes):
        raise FeatureNotSupported("Delta tables with partitions by binary values are not supported")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _read_deleted(place: Place, table: Any, protocol: Any) -> pa.Table | None:
    """Returns the rows of deletion vectors; None if there are none."""
    if "deletionVectors" not in (protocol.reader_features or ()):
        return None
    parts = []
    for batch in pa.RecordBatchReader.from_stream(table.deletion_vectors()):
        for uri, kept in zip(batch.column("filepath").to_pylist(), batch.column("selection_vector"), strict=True):
            rows = pc.indices_nonzero(pc.invert(kept.values)).cast(pa.int64())
            # The address is encoded once more than the name of the file is
            stamp = place.stamp(_decode(uri, place), 0)
            names = pa.array([get_reader_path(stamp)] * len(rows), pa.string())
            parts.append(pa.table({"file": names, "row": rows}))
    return pa.concat_tables(parts) if parts else None


def _decode(uri: str, place: Place) -> str:
    return unquote(uri) if "://" in uri else uri


def _read_version(options: Mapping[str, object]) -> int | None:
    given = options.get("version")
    if given is not None and not str(given).isdecimal():
        raise SqlError.of("invalid_parameter_value", "version is the number of a version")
    return None if given is None else int(str(given))


def _make_options(place: Place) -> dict[str, str] | None:
    """Returns delta-rs' options of a storage; what is not among them it takes from the environment."""
    if place.store is None:
        return None
    options: StoreOptions = place.store.options
    found: dict[str, str | None] = {
        "timeout": f"{options.request_seconds:g}s",
        "connect_timeout": f"{options.connect_seconds:g}s",
        "max_retries": str(max(options.attempts - 1, 0)),
        "allow_http": "true" if (options.endpoint or "").startswith("http://") else "false",
    }
    match place.store.scheme:
        case "s3":
            found |= {
                "aws_endpoint_url": options.endpoint,
                "aws_region": options.region or ("us-east-1" if options.endpoint else None),
                "aws_access_key_id": options.key_id,
                "aws_secret_access_key": options.secret,
                "aws_session_token": options.token,
                "aws_skip_signature": "true" if options.anonymous else None,
            }
        case "az":
            found |= {
                "azure_storage_account_name": options.account,
                "azure_storage_account_key": options.secret,
                "azure_storage_sas_key": options.token,
                "azure_endpoint": options.endpoint,
            }
        case _:
            if options.token is not None or options.endpoint is not None:
                message = "Delta tables in gs with an endpoint or an access token are not supported"
                raise FeatureNotSupported(message, hint="Credentials of the environment are.")
            found |= {"google_skip_signature": "true" if options.anonymous else None}
    return {name: value for name, value in found.items() if value is not None}
