"""Features of a row's predecessors: lags, differences, rolling windows. They are saved as views only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpudb.errors import SqlError
from gpudb.functions.text_literal import quote_literal
from gpudb.ml.flow import Step
from gpudb.ml.literals import refer
from gpudb.ml.scaling import as_known_number
from gpudb.ml.selectors import numeric
from gpudb.ml.transformer import Chosen, Columns, Transformer, list_columns

_AGGREGATES = {"sum": "sum", "mean": "avg", "std": "stddev_samp", "min": "min", "max": "max", "count": "count"}


class _Ordered(Transformer):
    """A transformer of rows in the order of a column, within the groups that other columns make."""

    is_row_wise = False
    suitable = numeric()

    def __init__(self, columns: Chosen = None, *, order: str, by: Columns = ()) -> None:
        super().__init__(columns)
        self.order, self.by = order, list_columns(by)

    def list_inputs(self) -> Iterable[str]:
        """See `Transformer`."""
        return [*self.columns_, *self.by, self.order]

    def _window(self, frame: str = "") -> str:
        by = f"PARTITION BY {', '.join(map(refer, self.by))} " if self.by else ""
        return f"({by}ORDER BY {refer(self.order)}{frame})"


class Lag(_Ordered):
    """Adds the values of earlier rows: `COLUMN_lag_N` for each N of `lags`, of the column's type.

    NULL where there is no such row. Rows of one place in the order have no order among themselves: `order` should be
    unique within `by`. A negative N looks ahead.
    """

    def __init__(self, columns: Chosen = None, *, order: str, by: Columns = (), lags: Sequence[int] = (1,)) -> None:
        super().__init__(columns, order=order, by=by)
        self.lags = [int(each) for each in lags]

    def _build(self, step: Step) -> None:
        for name in self.columns_:
            for n in self.lags:
                step.added[f"{name}_lag_{n}"] = f"{_shift(name, n)} OVER {self._window()}"


class Difference(Lag):
    """Adds differences from earlier rows, as NVTabular's DifferenceLag: `COLUMN_difference_N`; see `Lag` for NULL."""

    def _build(self, step: Step) -> None:
        for name in self.columns_:
            for n in self.lags:
                text = f"{refer(name)} - {_shift(name, n)} OVER {self._window()}"
                step.added[f"{name}_difference_{n}"] = text


class Rolling(_Ordered):
    """Adds statistics of the last rows, or of a span of time: `COLUMN_STAT_WINDOW`.

    `window` is a number of rows, or an interval (`"3 hours"`) of the column `order`, a timestamp or date. `closed` is
    right (the row itself and those before it; a span is open at its start, as in pandas) or left (only those before:
    what is known before the row comes). `stats` are sum, mean, std, min, max (double precision) and count (bigint) of
    the values that are not NULL or NaN; without such values they are NULL, and the count 0.
    """

    def __init__(
        self,
        columns: Chosen = None,
        *,
        order: str,
        window: int | str,
        by: Columns = (),
        stats: Sequence[str] = ("mean",),
        closed: str = "right",
    ) -> None:
        super().__init__(columns, order=order, by=by)
        self.window, self.stats, self.closed = window, list(stats), closed
        if closed not in {"left", "right"}:
            raise SqlError.of("invalid_parameter_value", "closed must be left or right")
        if isinstance(window, int) and window < 1:
            raise SqlError.of("invalid_parameter_value", "a window has at least one row")
        for stat in self.stats:
            if stat not in _AGGREGATES:
                raise SqlError.of("invalid_parameter_value", f'"{stat}" is no statistic of Rolling')

    def _frame(self) -> str:
        if isinstance(self.window, int):
            if self.closed == "left":
                return f" ROWS BETWEEN {self.window} PRECEDING AND 1 PRECEDING"
            return f" ROWS BETWEEN {self.window - 1} PRECEDING AND CURRENT ROW"
        span, moment = f"interval {quote_literal(self.window)}", "interval '1 microsecond'"
        if self.closed == "left":
            return f" RANGE BETWEEN {span} PRECEDING AND {moment} PRECEDING"
        return f" RANGE BETWEEN {span} - {moment} PRECEDING AND CURRENT ROW"

    def _build(self, step: Step) -> None:
        label = str(self.window).replace(" ", "_")
        window = self._window(self._frame())
        for name in self.columns_:
            for stat in self.stats:
                aggregate = f"{_AGGREGATES[stat]}({as_known_number(name)})"
                step.added[f"{name}_{stat}_{label}"] = f"{aggregate} OVER {window}"


def _shift(name: str, n: int) -> str:
    return f"lag({refer(name)}, {n})" if n >= 0 else f"lead({refer(name)}, {-n})"
