"""Writers of manifests and manifest lists that derive the Avro form of their entries once, not for each file.

pyiceberg derives it from the schemas of the entries for each file, which takes longer than writing the entries of
a small commit. It depends only on the type of the partitions.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from pyiceberg.avro.codecs import AVRO_CODEC_KEY, CODEC_MAPPING_ICEBERG_TO_AVRO
from pyiceberg.avro.file import _SCHEMA_KEY, MAGIC, META_SCHEMA, SYNC_SIZE, AvroFileHeader, AvroOutputFile
from pyiceberg.avro.resolver import construct_writer, resolve_writer
from pyiceberg.io import OutputFile
from pyiceberg.manifest import (
    DEFAULT_READ_VERSION,
    MANIFEST_LIST_FILE_SCHEMAS,
    ManifestListWriterV2,
    ManifestWriterV2,
    data_file_with_partition,
    manifest_entry_schema_with_data_file,
)
from pyiceberg.schema import Schema
from pyiceberg.types import StructType
from pyiceberg.utils.schema_conversion import AvroSchemaConversion


@dataclass(frozen=True, slots=True)
class _EntryForm:
    """How entries are written: their schema in the file, also as Avro's JSON, and what writes them."""

    schema: Schema
    text: str
    writer: Any

    @classmethod
    def make(cls, schema: Schema, read: Schema, name: str) -> _EntryForm:
        """Derives it from the schema in the file and that of the entries in memory."""
        text = json.dumps(AvroSchemaConversion().iceberg_to_avro(schema, schema_name=name))
        return cls(schema, text, resolve_writer(record_schema=read, file_schema=schema))


@lru_cache(64)
def _form_of_entries(partition: StructType) -> _EntryForm:
    schema, read = (
        manifest_entry_schema_with_data_file(version, data_file_with_partition(partition, version))
        for version in (2, DEFAULT_READ_VERSION)
    )
    return _EntryForm.make(schema, read, "manifest_entry")


@cache
def _form_of_manifests() -> _EntryForm:
    schemas = MANIFEST_LIST_FILE_SCHEMAS
    return _EntryForm.make(schemas[2], schemas[DEFAULT_READ_VERSION], "manifest_file")


@cache
def _header_writer() -> Any:
    return construct_writer(META_SCHEMA)


class _AvroFile(AvroOutputFile[Any]):
    """An Avro file whose entries have a known form."""

    def __init__(self, output: OutputFile, form: _EntryForm, name: str, metadata: dict[str, str]) -> None:
        self.output_file, self.metadata = output, metadata
        self.file_schema, self.schema_name, self.writer = form.schema, name, form.writer
        self.sync_bytes = os.urandom(SYNC_SIZE)
        self._text = form.text

    def _write_header(self) -> None:
        codec = self.metadata[AVRO_CODEC_KEY]
        named = {_SCHEMA_KEY: self._text, AVRO_CODEC_KEY: CODEC_MAPPING_ICEBERG_TO_AVRO.get(codec) or codec}
        _header_writer().write(self.encoder, AvroFileHeader(MAGIC, {**self.metadata, **named}, self.sync_bytes))


class ManifestWriter(ManifestWriterV2):
    """Writes a manifest of data files."""

    def new_writer(self) -> AvroOutputFile[Any]:
        """Returns the Avro file."""
        form = _form_of_entries(self._spec.partition_type(self._schema))
        return _AvroFile(self._output_file, form, "manifest_entry", self._meta)


class ManifestListWriter(ManifestListWriterV2):
    """Writes the list of a snapshot's manifests."""

    def __enter__(self) -> ManifestListWriter:
        """Creates the file."""
        self._writer = _AvroFile(self._output_file, _form_of_manifests(), "manifest_file", self._meta)
        self._writer.__enter__()
        return self
