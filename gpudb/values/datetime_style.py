"""DateStyle and IntervalStyle: how texts of dates, timestamps and intervals are read and written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

FORMATS = ("ISO", "SQL", "Postgres", "German")
ORDERS = ("MDY", "DMY", "YMD")
INTERVAL_STYLES = ("postgres", "postgres_verbose", "sql_standard", "iso_8601")


@dataclass(frozen=True, slots=True)
class DateTimeStyle:
    """A session's DateStyle, its output format and the order of a date's numbers, and its IntervalStyle."""

    format: str = FORMATS[0]
    order: str = ORDERS[0]
    interval: str = INTERVAL_STYLES[0]

    @property
    def date_style(self) -> str:
        """The text of DateStyle, `ISO, MDY`."""
        return f"{self.format}, {self.order}"

    @property
    def reads_otherwise(self) -> bool:
        """Whether some texts mean another value than by default."""
        return self.order != _DEFAULT.order or self.interval == "sql_standard"

    @property
    def is_default(self) -> bool:
        """Whether texts are those of a session that has set neither."""
        return self == _DEFAULT


class StyleSettings(Protocol):
    """The settings of a session, by their names in lower case."""

    def __getitem__(self, name: str, /) -> str: ...


_DEFAULT = DateTimeStyle()
_SETTINGS: ContextVar[StyleSettings | None] = ContextVar("_SETTINGS", default=None)
_FIXED: ContextVar[DateTimeStyle | None] = ContextVar("_FIXED", default=None)


@lru_cache(maxsize=64)
def parse_style(date_style: str, interval_style: str) -> DateTimeStyle:
    """Returns the style of two settings in their canonical texts."""
    form, _, order = date_style.partition(", ")
    return DateTimeStyle(form, order, interval_style)


def follow_settings(settings: StyleSettings) -> None:
    """Lets texts of this context follow a session's settings, as they are when a text is read or written."""
    _SETTINGS.set(settings)


def get_style() -> DateTimeStyle:
    """Returns the style of texts in this context: that of a session whose statement runs, or the default."""
    fixed = _FIXED.get()
    if fixed is not None:
        return fixed
    settings = _SETTINGS.get()
    return _DEFAULT if settings is None else parse_style(settings["datestyle"], settings["intervalstyle"])


@contextmanager
def use_style(style: DateTimeStyle = _DEFAULT) -> Iterator[None]:
    """Reads and writes texts in a style whatever the session's: by default that of texts which outlive a session."""
    token = _FIXED.set(style)
    try:
        yield
    finally:
        _FIXED.reset(token)
