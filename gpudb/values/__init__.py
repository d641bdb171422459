"""SQL values outside the engine: their text and binary forms, single ones and whole Arrow columns.

`text` and `binary` read and write single values, `columns` and `columns_binary` turn a column into the bytes
that DataRow and COPY carry, `scram` makes a stored password. Imports errors, types and pgdata alone.
"""

from __future__ import annotations

from gpudb.values.binary import parse_binary
from gpudb.values.interval import Interval
from gpudb.values.multirange import Multirange
from gpudb.values.range import Range
from gpudb.values.text import format_text, parse_text

__all__ = ["Interval", "Multirange", "Range", "format_text", "parse_binary", "parse_text"]
