"""Rows as files, as COPY writes them: csv, JSON lines, Arrow, Parquet, Excel. A file appears whole, or not at all."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from gpudb.errors import FeatureNotSupported
from gpudb.storage.copy.arrow_writer import ArrowWriter
from gpudb.storage.copy.options import CopyOptions
from gpudb.storage.copy.parquet_writer import ParquetWriter
from gpudb.storage.copy.writer import RowWriter
from gpudb.storage.copy.xlsx_writer import XlsxWriter

if TYPE_CHECKING:
    from gpudb.api.rows import Rows

_JSON_TYPES = frozenset({"json", "jsonb"})
_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?(e[+-]?\d+)?")


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yields the path of a file that takes the place of one of that name at the end, or is removed after an error."""
    target = Path(path)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        yield partial
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def write_rows(rows: Rows, path: str | os.PathLike[str], blocks: Iterable[bytes]) -> int:
    """Writes the blocks of some rows to a file; returns the number of rows. OSError if it cannot be written."""
    if not rows.gives_rows:
        raise FeatureNotSupported("a statement without rows cannot be written to a file")
    with replacing(path) as partial, partial.open("wb") as file:
        file.writelines(blocks)
    return len(rows)


def encode_csv(rows: Rows, *, delimiter: str = ",", header: bool = True) -> Iterator[bytes]:
    """Yields rows as COPY's csv; 0A000 for a delimiter of several characters."""
    if len(delimiter.encode()) != 1 or delimiter in '\r\n"':
        raise FeatureNotSupported(
            "the delimiter of csv must be a single one-byte character, and no quote or line break"
        )
    options = CopyOptions(format="csv", delimiter=delimiter, null="", header="skip" if header else "none")
    return RowWriter(rows.columns, rows.types, options, rows.timezone).blocks(rows.batches)


def encode_json(rows: Rows) -> Iterator[bytes]:
    """Yields an object a line. Numbers, booleans and JSON stay what they are; all else is text."""
    for line in list_objects(rows):
        yield f"{line}\n".encode()


def list_objects(rows: Rows) -> Iterator[str]:
    """Yields an object of JSON for each row."""
    kinds = [each.name for each in rows.types]
    names = [json.dumps(name, ensure_ascii=False) for name in rows.columns]
    for values, texts in zip(rows, rows.texts(), strict=True):
        parts = map(_format_json, kinds, values, texts)
        yield "{" + ", ".join(f"{name}: {part}" for name, part in zip(names, parts, strict=True)) + "}"


def _format_json(kind: str, value: object, text: str | None) -> str:
    if text is None:
        return "null"
    if kind in _JSON_TYPES:
        return text
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float | Decimal) and _NUMBER.fullmatch(text):
        return text
    return json.dumps(text, ensure_ascii=False)


def encode_arrow(rows: Rows) -> Iterator[bytes]:
    """Yields an Arrow file (Feather)."""
    return ArrowWriter(rows.columns, rows.types, rows.timezone).blocks(rows.batches)


def encode_parquet(rows: Rows) -> Iterator[bytes]:
    """Yields a Parquet file."""
    return ParquetWriter(rows.columns, rows.types, "zstd", rows.timezone).blocks(rows.batches)


def encode_xlsx(rows: Rows) -> Iterator[bytes]:
    """Yields a workbook of Excel; 0A000 without the extra `excel`, 54000 for more rows than a sheet has room for."""
    return XlsxWriter(rows.columns, rows.types, rows.timezone).blocks(rows.batches)


BINARY: Mapping[str, Callable[[Rows], Iterator[bytes]]] = {
    "parquet": encode_parquet,
    "arrow": encode_arrow,
    "xlsx": encode_xlsx,
}
"""Formats that are no text, by name."""
