"""The encodings of a chart: which columns they read, and which aggregates of them, so that SQL can compute these."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpudb.api.names import quote_identifier
from gpudb.errors import SqlError

AGGREGATES = {
    "count": "count(*)",
    "valid": "count({0})",
    "distinct": "count(DISTINCT {0})",
    "sum": "sum({0})::float8",
    "mean": "avg({0})::float8",
    "average": "avg({0})::float8",
    "median": "percentile_cont(0.5) WITHIN GROUP (ORDER BY {0}::float8)",
    "q1": "percentile_cont(0.25) WITHIN GROUP (ORDER BY {0}::float8)",
    "q3": "percentile_cont(0.75) WITHIN GROUP (ORDER BY {0}::float8)",
    "min": "min({0})",
    "max": "max({0})",
    "stdev": "stddev_samp({0})::float8",
    "stdevp": "stddev_pop({0})::float8",
    "variance": "var_samp({0})::float8",
    "variancep": "var_pop({0})::float8",
}
"""Vega-Lite's aggregates in SQL, of the column `{0}`."""
_DISCRETE = frozenset({"nominal", "ordinal"})
_TRANSFORMS = ("bin", "timeUnit", "condition")
_PATH = re.compile(r"""[.\[\]\\]|^["']""")
"""What Vega-Lite reads in a field's name as the way to a value within one."""


@dataclass(frozen=True, slots=True)
class Channel:
    """What one encoding reads. `given` is Altair's object or shorthand; `field` the column's name; `transform` what
    only Altair can compute."""

    name: str
    given: Any
    field: str | None = None
    aggregate: str | None = None
    kind: str | None = None
    transform: str | None = None

    @property
    def is_discrete(self) -> bool:
        """Whether it is said to have categories rather than numbers or times."""
        return self.kind in _DISCRETE

    @property
    def column(self) -> str:
        """The name of its column among the computed ones."""
        if self.aggregate is None:
            return str(self.field)
        return f"{self.aggregate}({self.field or ''})"

    @property
    def title(self) -> str:
        """What Vega-Lite calls an aggregate on an axis."""
        if self.aggregate == "count":
            return "Count of Records"
        return f"{str(self.aggregate).capitalize()} of {self.field}"

    def build_aggregate(self) -> str:
        """Returns its aggregate in SQL; 54000 for one that SQL has not."""
        if self.aggregate not in AGGREGATES:
            raise refuse(f'"{self.aggregate}" of "{self.field}" cannot be computed by the database')
        return AGGREGATES[self.aggregate].format(quote_identifier(self.field or ""))

    def point_to(self, field: str, kind: str, title: str, **more: object) -> Any:
        """Returns what Altair is given instead, of a column that is computed already, named `field`."""
        import altair as alt

        definition = {"field": escape(field), "type": self.kind or kind, **more}
        if isinstance(self.given, str):
            return getattr(alt, self.name[0].upper() + self.name[1:])(title=title, **definition)
        changed = self.given.copy()
        if changed["title"] is alt.Undefined:
            changed["title"] = title
        for name, value in {"shorthand": alt.Undefined, "aggregate": alt.Undefined, **definition}.items():
            changed[name] = value
        return changed


def read_channels(encodings: Mapping[str, object]) -> list[Channel]:
    """Returns the channels that read columns."""
    found = []
    for name, given in encodings.items():
        for each in given if isinstance(given, list | tuple) else (given,):
            channel = read_channel(name, each)
            if channel.field or channel.aggregate or channel.transform:
                found.append(channel)
    return found


def read_channel(name: str, given: Any) -> Channel:
    """Returns one channel, of Altair's shorthand, object or dict."""
    from altair import Undefined
    from altair.utils import parse_shorthand

    if isinstance(given, str):
        parts = parse_shorthand(given)
    elif isinstance(given, Mapping):
        parts = dict(given)
    else:
        kept = getattr(given, "_kwds", {})
        parts = {key: value for key, value in kept.items() if value is not Undefined}
        if isinstance(shorthand := parts.pop("shorthand", None), str):
            parts = {**parse_shorthand(shorthand), **parts}
    transform = next((each for each in _TRANSFORMS if parts.get(each)), None)
    field, aggregate = parts.get("field"), parts.get("aggregate")
    if not isinstance(aggregate, str | None) or not isinstance(field, str | None):
        transform, field, aggregate = "aggregate", None, None
    return Channel(name, given, field and unescape(field), aggregate, parts.get("type"), transform)


def list_columns(channels: Sequence[Channel]) -> list[str]:
    """Returns the columns that are read as they are, each once."""
    return list(dict.fromkeys(each.field for each in channels if each.field and not each.aggregate))


def escape(name: str) -> str:
    """Returns a column's name as Vega-Lite's definitions have it."""
    return _PATH.sub(r"\\\g<0>", name)


def unescape(field: str) -> str:
    """Returns the column's name of a definition's field."""
    return re.sub(r"\\(.)", r"\1", field)


def refuse(why: str) -> SqlError:
    """Returns the error 54000 for a chart of more rows than are drawn, which the database cannot make fewer."""
    hint = (
        "Aggregate, filter or limit the rows in SQL (Relation.select, filter, limit),"
        ' or call altair.data_transformers.enable("vegafusion").'
    )
    return SqlError.of("program_limit_exceeded", why, hint=hint)
