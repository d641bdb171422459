"""Names of a table's files that hold the hash of their content, so that what names a file also proves it.

The catalog names a metadata file, which names manifest lists, which name manifests, which name data and delete files:
one flipped bit in any of them differs from the name by which it was reached. A data file's name has the hash of what
follows its last page: Bloom filters, the page index and the footer; its pages have checksums. The hash is the first 122
bits of SHA-256 in the form of a UUID of version 8. Names with other UUIDs, which earlier versions of gpudb and other
programs give, prove nothing.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from gpudb.errors import GpudbError

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_HASHED = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}(?=[-.])")


def hash_content(content: bytes | memoryview) -> str:
    """Returns the hash of a content as its file's name has it."""
    number = int.from_bytes(hashlib.sha256(content).digest()[:16])
    number &= ~(0xF << 76) & ~(0x3 << 62)
    return str(uuid.UUID(int=number | 8 << 76 | 2 << 62))


def find_hash(name: str) -> str | None:
    """Returns the hash in a file's name, None if it has none."""
    found = _HASHED.search(name)
    return None if found is None else found.group()


def read_file(path: Path, what: str) -> bytes:
    """Returns the content of a file; `what` is its kind, as errors say it.

    Raises XX001 with the file's name if it is missing, cannot be read, or differs from the hash in its name.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise GpudbError(f'{what} "{path}" does not exist', condition="data_corrupted") from error
    except OSError as error:
        raise GpudbError(f'could not read {what} "{path}": {error.strerror}', condition="data_corrupted") from error
    expected = find_hash(path.name)
    if expected is not None and hash_content(content) != expected:
        raise GpudbError(f'{what} "{path}" is damaged: its hash is not the one in its name', condition="data_corrupted")
    return content


def name_data_file(path: Path, footer: pq.FileMetaData) -> Path:
    """Gives a closed Parquet file a name with the hash of what follows its pages; returns its new path."""
    named = path.with_name(f"{path.stem}-{_hash_tail(path, footer)}.parquet")
    path.rename(named)
    return named


def verify_data_file(path: Path, footer: pq.FileMetaData) -> None:
    """Raises XX001 if what follows the pages of a Parquet file differs from the hash in its name."""
    expected = find_hash(path.name)
    if expected is not None and _hash_tail(path, footer) != expected:
        message = f'data file "{path}" is damaged: the hash of its footer is not the one in its name'
        raise GpudbError(message, condition="data_corrupted")


def _hash_tail(path: Path, footer: pq.FileMetaData) -> str:
    end = 4
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        if group.num_columns:  # chunks are in the order of their columns
            chunk = group.column(group.num_columns - 1)
            start = chunk.data_page_offset
            if chunk.has_dictionary_page:
                start = min(start, chunk.dictionary_page_offset)
            end = max(end, start + chunk.total_compressed_size)
    with path.open("rb") as file:
        file.seek(end)
        return hash_content(file.read())
