"""Writes rows that are JSON objects already, one a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc


class JsonWriter:
    """Writes one COPY TO of a single column of objects."""

    def __init__(self) -> None:
        self.rows = 0

    def messages(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.BinaryArray]:
        """Yields one-row messages, many in an array."""
        for batch in batches:
            self.rows += batch.num_rows
            yield _lines(batch.column(0))

    def blocks(self, batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
        """Yields the same bytes in blocks of many rows, for a file."""
        for rows in self.messages(batches):
            yield b"".join(rows.to_pylist())


def _lines(objects: pa.Array) -> pa.BinaryArray:
    # Between the parts of a json value there may be line breaks, in its texts they are escaped
    single = pc.replace_substring_regex(objects.cast(pa.string()), r"[\r\n]+", " ")
    return pc.binary_join_element_wise(single, "\n", "").cast(pa.binary())
