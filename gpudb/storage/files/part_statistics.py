"""What is known of the parts of a file: its columns' Arrow types, and rows and statistics of each part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class PartStatistics:
    """A part's rows and bytes; minima, maxima and NULL counts of columns by name, where they are known.

    Of text, `offset` is that of its bytes. Values have the form of `catalog.tables.DataFile`.
    """

    rows: int
    bytes: int
    minimums: Mapping[str, object] = field(default_factory=dict)
    maximums: Mapping[str, object] = field(default_factory=dict)
    nulls: Mapping[str, int] = field(default_factory=dict)
    offset: int = 0


@dataclass(frozen=True, slots=True)
class FileParts:
    """The Arrow types of a file's columns, and its parts in order.

    `obstacle` says why only the embedded engine reads columns of the file; '' if workers do.
    """

    schema: pa.Schema
    parts: Sequence[PartStatistics]
    obstacle: str = ""
