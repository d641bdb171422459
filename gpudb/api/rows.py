"""Results in memory: the rows of a statement as Arrow, Polars, pandas, Python tuples or text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from gpudb.api.arrow import to_public_arrow, to_python_values
from gpudb.api.boundary import public
from gpudb.distribution import render_install
from gpudb.errors import SqlError
from gpudb.session.results import ResultColumn
from gpudb.types import SqlType

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

Row = tuple[object, ...]
SHOWN_ROWS = 10
"""The rows that a notebook shows."""


class Rows:
    """The rows of one statement, in memory. `tag` is PostgreSQL's command tag: `SELECT 3`, `INSERT 0 5`, `SET`."""

    def __init__(
        self, tag: str, columns: tuple[ResultColumn, ...] | None, batches: list[pa.RecordBatch], timezone: str
    ) -> None:
        self.gives_rows = columns is not None
        """Whether the statement returns rows, possibly none, or rows without columns (`SELECT`)."""
        self.fields = columns or ()
        """The columns in the session's types."""
        self._batches = batches
        self._timezone = timezone
        self._prefix = tag

    @property
    def tag(self) -> str:
        """The command tag."""
        return f"{self._prefix} {len(self)}" if self.gives_rows else self._prefix

    @property
    def rowcount(self) -> int:
        """The number of rows returned, or changed (`UPDATE 3`); 0 for other statements."""
        if self.gives_rows:
            return len(self)
        last = self._prefix.rpartition(" ")[2]
        return int(last) if last.isdigit() else 0

    @property
    def batches(self) -> Sequence[pa.RecordBatch]:
        """The rows as the engine gives them: columns of `SqlType.arrow`."""
        return self._batches

    @property
    def timezone(self) -> str:
        """The session's TimeZone, in which moments are written."""
        return self._timezone

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns' names, which may repeat."""
        return tuple(field.name for field in self.fields)

    @property
    def types(self) -> tuple[SqlType, ...]:
        """The columns' SQL types; `str` of one is PostgreSQL's name for it."""
        return tuple(field.type for field in self.fields)

    def __len__(self) -> int:
        """The number of rows."""
        return sum(batch.num_rows for batch in self._batches)

    def __iter__(self) -> Iterator[Row]:
        """Yields rows as tuples of Python values (see `gpudb.api.arrow`); None is NULL."""
        for batch in self._batches:
            yield from iterate_tuples(self.fields, batch)

    def fetchall(self) -> list[Row]:
        """Returns all rows as tuples."""
        return list(self)

    def fetchone(self) -> Row | None:
        """Returns the first row; None if there is none."""
        return next(iter(self), None)

    def head(self, rows: int = 10) -> Rows:
        """Returns the first rows."""
        batches, room = [], rows
        for batch in self._batches:
            if room > 0:
                batches.append(batch.slice(0, room))
                room -= batch.num_rows
        return Rows(self._prefix, self.fields if self.gives_rows else None, batches, self._timezone)

    def arrow(self) -> pa.Table:
        """Returns an Arrow table with columns as in `gpudb.api.arrow`, rows in the result's order."""
        arrays = []
        for index, field in enumerate(self.fields):
            chunks = [batch.column(index) for batch in self._batches]
            arrays.append(to_public_arrow(field.type, pa.chunked_array(chunks, field.type.arrow)))
        return pa.Table.from_arrays(arrays, names=list(self.columns))

    @public
    def polars(self) -> pl.DataFrame:
        """Returns a Polars frame. Duplicate column names get the suffixes `_1`, `_2`; an interval is a struct of
        months, days and microseconds, since a Polars duration has no months. 22008 for a date or timestamp that is
        infinite or outside the years 1 to 9999.
        """
        import polars as pl

        table = self.arrow().rename_columns(_make_distinct(self.columns))
        _check_years(table)
        for index, field in enumerate(table.schema):
            if field.type == pa.month_day_nano_interval():
                table = table.set_column(index, field.name, _to_interval_structs(table.column(index)))
        frame = pl.from_arrow(table)
        assert isinstance(frame, pl.DataFrame)
        return frame

    @public
    def pandas(self) -> pd.DataFrame:
        """Returns a pandas frame of Arrow-backed columns, which preserve NULLs, decimals and big integers.

        22008 as in `polars`. ImportError without pandas (the extra `pandas`).
        """
        try:
            import pandas as pd
        except ImportError as error:
            message = f"a pandas frame needs pandas, which is not installed: {render_install('pandas')}"
            raise ImportError(message, name="pandas") from error
        table = self.arrow()
        _check_years(table)
        interval = pa.month_day_nano_interval()  # pandas has no Arrow-backed type for it
        frame: pd.DataFrame = table.to_pandas(
            types_mapper=lambda arrow_type: None if arrow_type == interval else pd.ArrowDtype(arrow_type)
        )
        return frame

    def pl(self) -> pl.DataFrame:
        """The same as `polars`."""
        return self.polars()

    def df(self) -> pd.DataFrame:
        """The same as `pandas`."""
        return self.pandas()

    def texts(self) -> Iterator[tuple[str | None, ...]]:
        """Yields rows in PostgreSQL's text form; None is NULL."""
        from gpudb.values.text_columns import format_text_column

        for batch in self._batches:
            columns = [
                format_text_column(field.type, batch.column(index), self._timezone).to_pylist()
                for index, field in enumerate(self.fields)
            ]
            yield from zip(*columns, strict=True) if columns else [()] * batch.num_rows

    def __str__(self) -> str:
        """The rows in psql's format."""
        from gpudb.api.display import format_aligned

        return format_aligned(self.fields, self.texts()) if self.gives_rows else self.tag

    def to_html(self, count: int | None = None) -> str:
        """Returns the rows as an HTML table with types and escaped values; `count` is the number of all rows."""
        from gpudb.api.html import format_html

        return format_html(self.fields, list(self.texts()), len(self) if count is None else count)

    def _repr_html_(self) -> str | None:
        """The first rows for notebooks; None for a statement without rows."""
        return self.head(SHOWN_ROWS).to_html(len(self)) if self.gives_rows else None

    def __repr__(self) -> str:
        """The tag and the columns."""
        return f"<gpudb.Rows {self.tag}: {', '.join(self.columns)}>"


def iterate_tuples(fields: tuple[ResultColumn, ...], batch: pa.RecordBatch) -> Iterator[Row]:
    """Returns a batch as tuples of Python values."""
    if not fields:
        return iter([()] * batch.num_rows)
    columns = [to_python_values(field.type, batch.column(index)) for index, field in enumerate(fields)]
    return zip(*columns, strict=True)


def _make_distinct(names: tuple[str, ...]) -> list[str]:
    taken = set(names)
    seen: set[str] = set()
    distinct = []
    for name in names:
        candidate, number = name, 0
        while candidate in seen or (number and candidate in taken):
            number += 1
            candidate = f"{name}_{number}"
        seen.add(candidate)
        distinct.append(candidate)
    return distinct


def _check_years(table: pa.Table) -> None:
    """Raises 22008 for infinite dates, which Python's and Rust's calendars cannot print."""
    for field, column in zip(table.schema, table.columns):
        if pa.types.is_date(field.type):
            low, high, storage_type = -719162, 2932896, pa.int32()
        elif pa.types.is_timestamp(field.type):
            low, high, storage_type = -62135596800000000, 253402300799999999, pa.int64()
        else:
            continue
        ends = pc.min_max(pa.chunked_array([chunk.view(storage_type) for chunk in column.chunks], storage_type)).as_py()
        if ends["min"] is not None and (ends["min"] < low or ends["max"] > high):
            message = f'column "{field.name}" holds a {field.type} that is infinite or outside the years 1 to 9999'
            hint = "Cast it to text, or take it as an Arrow table or as rows."
            raise SqlError.of("datetime_field_overflow", message, hint=hint)


def _to_interval_structs(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = pa.struct([("months", pa.int32()), ("days", pa.int32()), ("microseconds", pa.int64())])
    rows = [
        None
        if value is None
        else {"months": value.months, "days": value.days, "microseconds": value.nanoseconds // 1000}
        for value in column.to_pylist()
    ]
    return pa.chunked_array([pa.array(rows, kind)], kind)
