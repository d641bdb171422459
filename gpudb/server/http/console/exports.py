"""Downloads: the rows of a query as CSV, Parquet or Arrow, by COPY TO STDOUT, streamed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

import pyarrow as pa

from gpudb.errors import SqlError
from gpudb.server.http.console.channel import Channel, ClientGone
from gpudb.server.http.console.kept_results import KeptResult
from gpudb.server.http.console.tabs import Tab
from gpudb.server.wire.client_errors import to_client_error
from gpudb.server.wire.results import NOTHING_SENT, Sent, count_changed
from gpudb.session.results import CopyOut
from gpudb.session.session import Session

FORMATS = {
    "csv": ("FORMAT csv, HEADER", "text/csv; charset=utf-8"),
    "parquet": ("FORMAT parquet", "application/vnd.apache.parquet"),
    "arrow": ("FORMAT arrow", "application/vnd.apache.arrow.stream"),
}
"""The options of COPY and the media type of a format, which is also the suffix of a file."""

_PIECE = 1 << 20


def run_export(tab: Tab, sql: str, form: str, channel: Channel, kept: KeptResult | None = None) -> None:
    """Fills the channel with a query's rows, on this thread; an error breaks the download off, or is all of it.

    The query reads a kept result in a session of charts, or runs in a tab, where it cannot write: 25006.
    """
    error = None
    try:
        if kept is None:
            with _reading(tab.session):
                _run(tab, sql, form, channel)
        else:
            tab.session.settings.set("TimeZone", kept.zone)
            with kept.show(tab.session):
                _run(tab, sql, form, channel)
    except BaseException as failure:
        gone = isinstance(failure, ClientGone)
        canceled = SqlError.of("query_canceled", "canceling statement due to user request")
        error = canceled if gone else to_client_error(failure)
        if error.position:
            error.position = max(error.position - len(_BEFORE), 1)
        if kept is not None:
            tab.session.fail()
        tab.recording.end(NOTHING_SENT, error.sqlstate)
        tab.session.sync()
    finally:
        tab.finish() if kept is None else tab.finish_clean()
    channel.end(error)


@contextmanager
def _reading(session: Session) -> Iterator[None]:
    """Context of statements that only read, in a transaction of their own, or a part of the tab's that is taken back.

    After an error the tab's transaction is what it was before.
    """
    if session.status == "E":
        yield  # and raises 25P02
        return
    is_inside = session.status == "T"
    _command(session, f"SAVEPOINT {_MARK}; SET LOCAL transaction_read_only = on" if is_inside else "BEGIN READ ONLY")
    try:
        yield
    except BaseException:
        session.fail()
        raise
    finally:
        _command(session, f"ROLLBACK TO SAVEPOINT {_MARK}; RELEASE SAVEPOINT {_MARK}" if is_inside else "ROLLBACK")


def _command(session: Session, text: str) -> None:
    for result in session.run(text):
        result.close()


_MARK = "gpudb_download"
_BEFORE = "COPY ("


def _run(tab: Tab, sql: str, form: str, channel: Channel) -> None:
    session = tab.session
    session.measures = {}
    query = sql.strip().rstrip(";")
    text = f"{_BEFORE}{query}\n) TO STDOUT ({FORMATS[form][0]})"
    tab.recording.start(text, runs=True)
    session.prepare(query)  # one query, whatever its text closes
    session.sync()
    result = session.execute(session.prepare(text))
    with closing(result):
        if not isinstance(result, CopyOut):
            raise SqlError.of("feature_not_supported", "only the rows of a query can be downloaded")
        for chunk in result.chunks:
            tab.check()
            content = memoryview(chunk) if isinstance(chunk, bytes) else _join(chunk)
            for start in range(0, len(content), _PIECE):
                channel.put(content[start : start + _PIECE])
    session.sync()
    tab.recording.end(Sent(count_changed(result.tag)))


def _join(rows: pa.BinaryArray) -> memoryview:
    """Returns the bytes of all rows, which lie side by side."""
    _, offsets, data = rows.buffers()
    if data is None:
        return memoryview(b"")
    width = 8 if pa.types.is_large_binary(rows.type) else 4
    bounds = memoryview(offsets).cast("B").cast("q" if width == 8 else "i")
    return memoryview(data)[bounds[rows.offset] : bounds[rows.offset + len(rows)]]
