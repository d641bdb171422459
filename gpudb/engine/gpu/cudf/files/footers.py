"""Footers of Parquet files as libcudf takes them."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import pylibcudf as plc

_END = 8
"""Bytes of a file after its footer: the footer's length, and PAR1."""


@lru_cache(64)
def read_footer(path: str, changed: int) -> list[Any]:
    """Reads a file's metadata as libcudf takes it; cached, so that reading a file in chunks parses it once.

    Without page indexes: each read would copy those of the whole file, which takes longer than decoding a few row
    groups; pages have headers.
    """
    with Path(path).open("rb") as file:
        file.seek(-_END, os.SEEK_END)
        length = int.from_bytes(file.read(4), "little")
        file.seek(-_END - length, os.SEEK_END)
        return [plc.io.parquet_metadata.FileMetaData.from_bytes(file.read(length))]
