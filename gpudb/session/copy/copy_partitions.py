"""COPY TO a folder of files, one folder `column=value` for each value of the columns of PARTITION_BY."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc

from gpudb.errors import FeatureNotSupported, SqlError, UndefinedColumn
from gpudb.session.results import ResultColumn
from gpudb.storage.files.discovery import NULL_FOLDER
from gpudb.values.text_columns import format_text_column

_HELD_BYTES = 128 << 20
"""Bytes of rows that are held before some are written."""
_FILE_MODE = 0o644
_FOLDER_MODE = 0o755
_MAX_PARTITIONS = 10_000


class Writer(Protocol):
    """A writer of one file."""

    rows: int

    def blocks(self, batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
        """Yields the file in blocks."""


@dataclass(slots=True)
class _Partition:
    folder: str
    batches: list[pa.RecordBatch] = field(default_factory=list)
    bytes: int = 0
    files: int = 0


@dataclass(slots=True)
class PartitionedFiles:
    """The files of one COPY TO: `columns` are those of the rows, `partition_by` the names of some.

    `make_writer` returns a writer of the other columns; `suffix` is that of the files.
    """

    columns: Sequence[ResultColumn]
    partition_by: Sequence[str]
    make_writer: Callable[[], Writer]
    suffix: str
    zone: str
    rows: int = 0
    _partitions: dict[str, _Partition] = field(default_factory=dict)
    _held: int = 0

    def write(self, batches: Iterable[pa.RecordBatch], target: Path) -> None:
        """Writes all rows below a folder, which appears whole or not at all; 58P02 if it exists and is not empty."""
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise SqlError.of("duplicate_file", f'"{target}" exists and is no empty directory')
        made = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
        try:
            for batch in batches:
                self._split(batch)
                if self._held > _HELD_BYTES:
                    self._flush(made, _HELD_BYTES // 2)
            self._flush(made, 0)
            made.chmod(_FOLDER_MODE)
            if target.exists():
                target.rmdir()
            made.rename(target)
        except BaseException:
            shutil.rmtree(made, ignore_errors=True)
            raise

    def _split(self, batch: pa.RecordBatch) -> None:
        if not batch.num_rows:
            return
        names = [column.name for column in self.columns]
        keys = [names.index(name) for name in self.partition_by]
        texts = [format_text_column(self.columns[at].type, batch.column(at), self.zone) for at in keys]
        others = [number for number in range(len(names)) if number not in keys]
        folders = _join_folders(self.partition_by, texts)
        rest = pa.RecordBatch.from_arrays([batch.column(at) for at in others], names=[f"c{at}" for at in others])
        for name in pc.unique(folders).to_pylist():
            part = rest.filter(pc.equal(folders, name))
            partition = self._partitions.get(name)
            if partition is None:
                if len(self._partitions) >= _MAX_PARTITIONS:
                    message = f"more than {_MAX_PARTITIONS} partitions in one COPY"
                    raise SqlError.of("program_limit_exceeded", message)
                partition = self._partitions.setdefault(name, _Partition(name))
            partition.batches.append(part)
            partition.bytes += part.nbytes
            self._held += part.nbytes

    def _flush(self, root: Path, rest: int) -> None:
        """Writes the largest partitions until at most `rest` bytes are held."""
        for partition in sorted(self._partitions.values(), key=lambda each: -each.bytes):
            if not partition.batches or (rest and self._held <= rest):
                continue
            folder = root / partition.folder
            folder.mkdir(parents=True, exist_ok=True)
            writer = self.make_writer()
            path = folder / f"part-{partition.files}{self.suffix}"
            with path.open("wb") as file:
                file.writelines(writer.blocks(partition.batches))
            path.chmod(_FILE_MODE)
            self.rows += writer.rows
            self._held -= partition.bytes
            partition.batches, partition.bytes, partition.files = [], 0, partition.files + 1
        for folder in root.rglob("*"):
            if folder.is_dir():
                folder.chmod(_FOLDER_MODE)


def check_partition_columns(columns: Sequence[ResultColumn], names: Sequence[str]) -> None:
    """42703 for a column that the rows have not; 0A000 if no other column is left."""
    known = [column.name for column in columns]
    for name in names:
        if name not in known:
            raise UndefinedColumn(f'column "{name}" does not exist')
    if len(names) >= len(known):
        raise FeatureNotSupported("COPY needs a column beside those of partition_by")


def _join_folders(names: Sequence[str], texts: Sequence[pa.Array]) -> pa.Array:
    """Returns the folder of each row."""
    parts = [_name_folders(name, each) for name, each in zip(names, texts, strict=True)]
    return pc.binary_join_element_wise(*parts, "/") if len(parts) > 1 else parts[0]


def _name_folders(name: str, texts: pa.Array) -> pa.Array:
    coded = texts.dictionary_encode()
    shown = [f"{quote(name, safe=' ')}={quote(value, safe=' :')}" for value in coded.dictionary.to_pylist()]
    folders = pa.array(shown, pa.string()).take(coded.indices)
    return pc.fill_null(folders, f"{quote(name, safe=' ')}={NULL_FOLDER}")
