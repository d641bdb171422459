"""A cursor's rows: which are kept for scrolling back, and which are released."""

from __future__ import annotations

import pyarrow as pa
import pytest

from gpudb.errors import SqlError
from gpudb.session.state import scrolling
from gpudb.session.state.scrolling import ScrolledRows


def _rows(scroll: bool | None) -> ScrolledRows:
    return ScrolledRows(iter(pa.record_batch({"n": [n, n + 1]}) for n in range(0, 10, 2)), scroll)


def _values(batches: object) -> list[int]:
    return [value for batch in batches for value in batch.column(0).to_pylist()]  # type: ignore[attr-defined]


def test_few_rows_are_kept_without_a_word_and_many_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = _rows(None)
    assert _values(rows.forward(5)) == [0, 1, 2, 3, 4]
    assert _values(rows.backward(2)) == [3, 2]
    monkeypatch.setattr(scrolling, "MAX_BUFFERED", 40)
    rows = _rows(None)
    assert _values(rows.forward(20)) == list(range(10))
    with pytest.raises(SqlError) as caught:
        list(rows.backward(1))
    assert caught.value.sqlstate == "55000"


def test_scroll_keeps_all_and_no_scroll_what_lies_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scrolling, "MAX_BUFFERED", 0)
    rows = _rows(True)
    assert _values(rows.absolute(-3)) == [7]
    assert _values(rows.relative(-7)) == [0]
    ahead = _rows(False)
    assert _values(ahead.absolute(4)) == [3]
    assert _values(ahead.relative(2)) == [5]
    assert not ahead.is_scrollable
