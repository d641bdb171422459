"""Roles that are logged in to the console: their cookies, and their sessions."""

from __future__ import annotations

import asyncio
import hmac
import secrets
import threading
import time
from dataclasses import dataclass, field

from gpudb.catalog.roles import Role
from gpudb.errors import SqlError
from gpudb.server.http.console.tabs import Tab
from gpudb.server.http.login import Sources
from gpudb.server.wire.hba.matching import ConnectionRequest
from gpudb.server.wire.login import is_expired
from gpudb.session.interfaces import Network

LONGEST_S = 12 * 3600.0
"""Seconds after which a role has to log in again."""
MAX_TABS = 100
CHART_SESSIONS = 8
"""Sessions in which the charts of a login are computed side by side."""


@dataclass(eq=False)
class ConsoleLogin:
    """A role's login: its cookie's `token`, the `csrf` token of its page, its tabs by name, its charts' sessions."""

    request: ConnectionRequest
    network: Network
    role: Role
    method: str
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    started: float = field(default_factory=time.monotonic)
    used: float = field(default_factory=time.monotonic)
    tabs: dict[str, Tab] = field(default_factory=dict)
    charts: list[Tab] = field(default_factory=list)
    chart_places: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(CHART_SESSIONS))
    is_ended: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def open_tab(self, sources: Sources, name: str) -> Tab:
        """Returns the tab with a name, opened on first use. Raises why it has ended by itself, once."""
        with self.lock:
            tab = self.tabs.get(name)
            if tab is not None and not tab.has_ended:
                return tab
            if tab is not None:
                del self.tabs[name]
                if tab.ended is not None:
                    raise tab.ended
            if len(self.tabs) >= MAX_TABS:
                raise SqlError.of("too_many_connections", f"a login has no more than {MAX_TABS} tabs")
            self._check()
            tab = self.tabs[name] = self._open(sources)
            return tab

    def take_chart_session(self, sources: Sources) -> Tab:
        """Returns a session for a chart, which `give_chart_session` gives back."""
        with self.lock:
            self._check()
            while self.charts:
                tab = self.charts.pop()
                if not tab.has_ended:
                    return tab
            return self._open(sources, TimeZone="UTC", default_transaction_read_only="on")

    def give_chart_session(self, tab: Tab) -> None:
        """Takes a chart's session back."""
        with self.lock:
            if not self.is_ended and not tab.has_ended:
                self.charts.append(tab)
                return
        tab.close()

    def _check(self) -> None:
        if self.is_ended:
            raise SqlError.of("invalid_authorization_specification", "the login has ended")

    def _open(self, sources: Sources, **settings: str) -> Tab:
        return Tab(sources, self.request, self.network, self.method, settings)

    def close_tab(self, name: str) -> None:
        """Ends a tab, if there is one of that name."""
        with self.lock:
            tab = self.tabs.pop(name, None)
        if tab is not None:
            tab.close()

    def close(self) -> None:
        """Ends all sessions; those that run are cancelled."""
        with self.lock:
            self.is_ended = True
            tabs = [*self.tabs.values(), *self.charts]
            self.tabs.clear()
            self.charts.clear()
        for tab in tabs:
            tab.close()

    def end_idle(self, now: float, most: float) -> bool:
        """Ends sessions that are idle for too long; returns whether a text runs in one."""
        with self.lock:
            tabs = [*self.tabs.values(), *self.charts]
        for tab in tabs:
            tab.end_if_idle(now, most)
        return any(not tab.is_idle for tab in tabs)


class Logins:
    """The logins of the console. Thread-safe. Idle ones end after `idle_seconds`."""

    def __init__(self, idle_seconds: float) -> None:
        self.idle_seconds = idle_seconds
        self._logins: dict[str, ConsoleLogin] = {}
        self._lock = threading.Lock()

    def add(self, login: ConsoleLogin) -> None:
        """Adds a login."""
        with self._lock:
            self._logins[login.token] = login

    def find(self, sources: Sources, token: str | None) -> ConsoleLogin:
        """Returns the login of a cookie; 28000 if there is none, it has ended, or its role has changed."""
        login = None if token is None else self._logins.get(token)
        now = time.monotonic()
        if login is None or self._is_over(login, now) or not _is_unchanged(sources, login):
            if login is not None:
                self.end(login)
            raise SqlError.of("invalid_authorization_specification", "log in to the console first")
        login.used = now
        return login

    def _is_over(self, login: ConsoleLogin, now: float) -> bool:
        return now - login.used > self.idle_seconds or now - login.started > LONGEST_S

    def end(self, login: ConsoleLogin) -> None:
        """Ends a login."""
        with self._lock:
            self._logins.pop(login.token, None)
        login.close()

    def end_idle(self) -> None:
        """Ends what is idle for too long, and sessions of others as their settings say."""
        now = time.monotonic()
        with self._lock:
            logins = list(self._logins.values())
        for login in logins:
            if login.end_idle(now, self.idle_seconds):
                login.used = now
            elif self._is_over(login, now):
                self.end(login)

    def close(self) -> None:
        """Ends all logins."""
        with self._lock:
            logins = list(self._logins.values())
            self._logins.clear()
        for login in logins:
            login.close()


def _is_unchanged(sources: Sources, login: ConsoleLogin) -> bool:
    """Whether the role is still the one that has logged in: neither dropped nor locked out, with the same password."""
    role = sources.database.roles().get(login.request.user)
    known = login.role
    return (
        role is not None
        and role.oid == known.oid
        and role.login
        and not is_expired(role)
        and hmac.compare_digest((role.verifier or "").encode(), (known.verifier or "").encode())
    )
