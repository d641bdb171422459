"""Conversion of texts to columns: what a process that reads them must know of the session."""

from __future__ import annotations

import datetime as dt
import pickle

import pyarrow as pa

from gpudb.storage.copy.conversion import Clock, convert_text
from gpudb.types import DATE, INTERVAL
from gpudb.values.datetime_style import DateTimeStyle, use_style


def test_texts_are_read_in_the_style_of_the_session_that_made_the_clock() -> None:
    with use_style(DateTimeStyle("SQL", "DMY", "sql_standard")):
        clock = pickle.loads(pickle.dumps(Clock()))
    dates = convert_text(DATE, pa.array(["05/06/2007", "2007-06-05", None]), clock)
    assert dates.values.to_pylist() == [dt.date(2007, 6, 5), dt.date(2007, 6, 5), None]
    (interval,) = convert_text(INTERVAL, pa.array(["-1 1:00:00"]), clock).values.to_pylist()
    assert (interval.days, interval.nanoseconds) == (-1, -3_600_000_000_000)
    assert convert_text(DATE, pa.array(["05/06/2007"]), Clock()).values.to_pylist() == [dt.date(2007, 5, 6)]
