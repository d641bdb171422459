"""Parts of dates and timestamps, with skrub's names."""

from __future__ import annotations

from gpudb.errors import DatatypeMismatch, SqlError
from gpudb.ml.flow import Step
from gpudb.ml.literals import refer
from gpudb.ml.selectors import temporal
from gpudb.ml.transformer import Chosen, Transformer

_PARTS = ("year", "month", "day", "hour", "minute", "second")
_DAY_PARTS = 3


class DatetimeEncoder(Transformer):
    """Replaces dates and timestamps by their parts down to `resolution`, as skrub's: `COLUMN_year` … (integer).

    `COLUMN_total_seconds` since 1970 (double precision), `COLUMN_weekday` (Monday is 1) and `COLUMN_day_of_year` follow
    where asked for. A date has no parts below the day; timestamptz is read in UTC. NULL gives NULL.
    """

    suitable = temporal()

    def __init__(
        self,
        columns: Chosen = None,
        *,
        resolution: str | None = "hour",
        add_total_seconds: bool = True,
        add_weekday: bool = False,
        add_day_of_year: bool = False,
    ) -> None:
        super().__init__(columns)
        if resolution is not None and resolution not in _PARTS:
            raise SqlError.of("invalid_parameter_value", f'"{resolution}" is no resolution of DatetimeEncoder')
        self.resolution = resolution
        self.add_total_seconds, self.add_weekday, self.add_day_of_year = add_total_seconds, add_weekday, add_day_of_year

    def _build(self, step: Step) -> None:
        for name in self.columns_:
            type_ = step.types[name].name
            if type_ not in {"date", "timestamp", "timestamptz"}:
                raise DatatypeMismatch(
                    f'column "{name}" is of type {step.types[name]} but DatetimeEncoder needs a date'
                )
            value = f"({refer(name)} AT TIME ZONE 'UTC')" if type_ == "timestamptz" else refer(name)
            parts = _PARTS[: _PARTS.index(self.resolution) + 1] if self.resolution else ()
            outputs = {}
            for part in parts[:_DAY_PARTS] if type_ == "date" else parts:
                # Seconds have a fraction, which the cast would round up.
                text = f"extract({part} FROM {value})"
                outputs[f"{name}_{part}"] = f"{f'floor({text})' if part == 'second' else text}::integer"
            if self.add_total_seconds:
                outputs[f"{name}_total_seconds"] = f"extract(epoch FROM {value})::float8"
            if self.add_weekday:
                outputs[f"{name}_weekday"] = f"extract(isodow FROM {value})::integer"
            if self.add_day_of_year:
                outputs[f"{name}_day_of_year"] = f"extract(doy FROM {value})::integer"
            step.replaced[name] = outputs
