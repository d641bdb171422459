"""SQL values outside the engine: text and binary forms of single values and of whole Arrow columns.

`text` and `binary` read and write single values, `text_columns` and `binary_columns` encode columns for DataRow and
COPY, `scram` makes password verifiers. Imports errors, types and pgdata only.
"""

from __future__ import annotations

from gpudb.values.binary import parse_binary
from gpudb.values.interval import Interval
from gpudb.values.multirange import Multirange
from gpudb.values.range import Range
from gpudb.values.text import format_text, parse_text

__all__ = ["Interval", "Multirange", "Range", "format_text", "parse_binary", "parse_text"]
