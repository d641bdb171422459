"""The statement that a session runs: its text, its cancel flag, its time limit, and how far it is."""

from __future__ import annotations

import datetime as dt
import math
import threading

from gpudb.engine.protocol import Cancel, Request
from gpudb.session.progress import CopyProgress
from gpudb.session.settings.catalog import (
    LOG_PLAN,
    LOG_STATEMENT,
    SettingValues,
    parse_milliseconds,
    parse_optional_seconds,
)

_IDLE_LIMITS = ("idle_session_timeout", "idle_in_transaction_session_timeout")


class RunningStatement:
    """A session's statement that runs now or ran last.

    `text` is the whole text that the client sent, `part` the statement of it that runs now if it has several, else ''.
    `parsed_s` are the seconds of a long parse, which count for its first statement's timeout.
    `active` is whether it still runs, `progress` how far its load is. From `slow_after` seconds on it is logged; if
    `explains_slow`, its last request to the engine is kept as `slow_request`.
    """

    def __init__(self, settings: SettingValues) -> None:
        self.text = self.part = ""
        self.started: dt.datetime | None = None
        self.active = False
        self.progress: CopyProgress | None = None
        self.slow_after, self.explains_slow = math.inf, False
        self.slow_request: Request | None = None
        self._settings = settings
        self._settings_version = -1
        self._timeout, self._has_idle_limits = 0, False
        self._cancel: Cancel | None = None
        self._timers: list[threading.Timer] = []
        self.parsed_s = 0.0

    def begin(self) -> tuple[Cancel, dt.datetime]:
        """Starts a statement: returns its cancel flag, which statement_timeout sets too, and the current time."""
        self.end()
        cancel = Cancel()
        self._cancel = cancel
        self.active = True
        self.started = now = dt.datetime.now(dt.UTC)
        if self._settings_version != self._settings.version:
            self._update_limits()
        self._start_timer(cancel, self.parsed_s)
        self.parsed_s = 0.0
        return cancel, now

    def _start_timer(self, cancel: Cancel, spent: float = 0.0) -> None:
        """Starts the time that statement_timeout gives, of which some is spent already."""
        if self._timeout:
            self.limit(cancel, max(self._timeout / 1000 - spent, 0.0), "canceling statement due to statement timeout")

    def limit(self, cancel: Cancel, seconds: float, reason: str) -> None:
        """Stops the statement of a cancel flag after seconds, unless it has ended."""
        timer = threading.Timer(seconds, cancel.stop, (reason,))
        timer.daemon = True
        self._timers.append(timer)
        timer.start()

    def end(self) -> None:
        """Ends the statement."""
        self._cancel = None
        self.active = False
        self.progress = None
        self._stop_timers()

    def _stop_timers(self) -> None:
        while self._timers:
            self._timers.pop().cancel()

    def begin_parsing(self, *, is_long: bool) -> Cancel:
        """Returns the cancel flag of a parse, which `end_parsing` ends. A long one counts for statement_timeout."""
        self._cancel = cancel = Cancel()
        if is_long:
            if self._settings_version != self._settings.version:
                self._update_limits()
            self._start_timer(cancel)
        return cancel

    def end_parsing(self) -> None:
        """Ends a parse."""
        self._cancel = None
        self._stop_timers()

    def cancel(self) -> None:
        """Cancels the statement with 57014; safe from any thread."""
        cancel = self._cancel
        if cancel is not None:
            cancel.stop()

    @property
    def waits_for(self) -> str | None:
        """The event that the statement waits for, as pg_stat_activity names it."""
        cancel = self._cancel
        return cancel.waits_for if cancel is not None else None

    def measure_progress(self) -> float | None:
        """Returns the fraction of the query that its engine has done; None if it is unknown."""
        cancel = self._cancel
        measure = cancel.measure if cancel is not None else None
        return measure() if measure is not None else None

    @property
    def has_idle_limits(self) -> bool:
        """Whether idle_session_timeout or idle_in_transaction_session_timeout is set."""
        if self._settings_version != self._settings.version:
            self._update_limits()
        return self._has_idle_limits

    def _update_limits(self) -> None:
        """Reads the settings of durations, which seldom change."""
        settings = self._settings
        timeout, most = map(self._milliseconds, ("statement_timeout", "gpudb.max_statement_timeout"))
        self._timeout = most if most and not 0 < timeout <= most else timeout
        statement, plan = (parse_optional_seconds(settings[each]) for each in (LOG_STATEMENT, LOG_PLAN))
        self.slow_after, self.explains_slow = min(statement, plan), plan != math.inf
        self._has_idle_limits = any(map(self._milliseconds, _IDLE_LIMITS))
        self._settings_version = settings.version

    def _milliseconds(self, name: str) -> int:
        return parse_milliseconds(self._settings[name])
