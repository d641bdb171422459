"""The fast path, the exact path, and any split into blocks read the same rows, or fail with the same error."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpudb.catalog.tables import Column, Table
from gpudb.errors import GpudbError
from gpudb.storage.copy.conversion import Clock
from gpudb.storage.copy.fast_reader import FastReader
from gpudb.storage.copy.ingest import BlockSource, CopyIngest, CopyStream, RowCompletion
from gpudb.storage.copy.options import CopyOptions
from gpudb.storage.copy.reader import RowReader
from gpudb.storage.copy.split import Splitter
from gpudb.types import INT4, TEXT, SqlType, numeric

OPTIONS = {
    "csv": CopyOptions(format="csv", delimiter=",", null=""),
    "csv with escape": CopyOptions(format="csv", delimiter=",", null="", escape="\\"),
    "csv with null": CopyOptions(format="csv", delimiter="|", null="N"),
    "csv with forces": CopyOptions(format="csv", delimiter=",", null="", force_null="*", force_not_null=("c1",)),
    "csv with header": CopyOptions(format="csv", delimiter=",", null="", header="skip"),
    "text": CopyOptions(),
    "text with null": CopyOptions(delimiter="|", null=""),
    "text with default": CopyOptions(default="N"),
}
TYPES: tuple[tuple[SqlType, ...], ...] = (
    (TEXT,),
    (TEXT, TEXT),
    (INT4, TEXT),
    (TEXT, INT4),
    (numeric(4, 1), INT4, TEXT),
)

_CSV_PIECES = [",", '"', '""', "\n", "\r\n", "a", "1", "12.5", "-3", " ", "N", "\\", "\\.", "é", "|", "'", "0x1"]
_TEXT_PIECES = ["\t", "\n", "\r\n", "a", "1", "-2", "\\N", "\\", "\\t", "\\\\", "\\.", "|", "é", "x", "7.55", "N"]


def _outcome(
    types: Iterable[SqlType],
    options: CopyOptions,
    data: bytes,
    *,
    exact: bool = False,
    block: int = 1 << 20,
    chunk: int = 1 << 20,
) -> tuple[str, list[dict[str, object]]]:
    columns = tuple(Column(f"c{number}", type_, default="1") for number, type_ in enumerate(types))
    table = Table(1, "public", "t", columns, "gpudb")
    reader = RowReader(columns, options, Clock(), frozenset(column.name for column in columns))
    if exact:
        reader._quick = _Never(reader._types, options)
    batches: list[pa.RecordBatch] = []

    def write(given: Iterable[pa.RecordBatch]) -> int:
        batches.extend(given)
        return sum(batch.num_rows for batch in batches)

    flow = CopyStream(
        Splitter(options, block), BlockSource("COPY t", reader, RowCompletion(table, columns)), CopyIngest(write)
    )
    try:
        for start in range(0, len(data), chunk):
            flow.feed(data[start : start + chunk])
        flow.finish()
    except GpudbError as error:
        return f"{error.sqlstate} {error.message} {error.where}", []
    finally:
        flow.abort()
    return "", [row for batch in batches for row in batch.to_pylist()]


class _Never(FastReader):
    """Rejects every block."""

    def check(self, data: bytes, eol: bytes) -> tuple[bool, bool]:
        return False, False


def _pieces(name: str) -> st.SearchStrategy[bytes]:
    pieces = st.sampled_from(_CSV_PIECES if name.startswith("csv") else _TEXT_PIECES)
    return st.lists(pieces, max_size=24).map(lambda parts: "".join(parts).encode())


def _rows(name: str) -> st.SearchStrategy[bytes]:
    """Generates data that is mostly well formed."""
    options = OPTIONS[name]
    fields = ["1", "12", "-3", "4.5", options.null, "a b"]
    if options.format == "csv":
        quote = options.quote
        fields += [f"{quote}1{quote}", f"{quote}a{options.delimiter}{quote}", f"{quote}{quote}", f"{quote}\n{quote}"]
    else:
        fields += ["a\\tb", "\\\\", "\\101"]
    row = st.lists(st.sampled_from(fields), min_size=2, max_size=2).map(options.delimiter.join)
    end = st.sampled_from(["\n", "\r\n"])
    return st.tuples(st.lists(row, max_size=8), end).map(lambda made: "".join(r + made[1] for r in made[0]).encode())


@pytest.mark.parametrize("types", TYPES, ids=lambda types: "-".join(str(each) for each in types))
@pytest.mark.parametrize("name", OPTIONS)
def test_any_bytes(name: str, types: tuple[SqlType, ...]) -> None:
    options = OPTIONS[name]

    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(_pieces(name) | _rows(name), st.integers(1, 40), st.integers(1, 9))
    def same(data: bytes, block: int, chunk: int) -> None:
        expected = _outcome(types, options, data, exact=True)
        assert _outcome(types, options, data) == expected
        assert _outcome(types, options, data, block=block, chunk=chunk) == expected

    same()
