"""The console's state while a server runs: its logins, and the threads on which their statements run."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import TypeVar

from starlette.requests import Request

from gpudb.engine.scheduling import answer_soon
from gpudb.server.http.console.access import WrongPasswords
from gpudb.server.http.console.kept_results import KeptResults
from gpudb.server.http.console.logins import ConsoleLogin, Logins
from gpudb.server.http.console.requests import check_csrf, name_cookie
from gpudb.server.http.console.tabs import Tab
from gpudb.server.http.login import Sources, open_sources
from gpudb.storage.copy.pipeline import AgedPool

T = TypeVar("T")

MAX_THREADS = 1000
_SWEEP_S = 1.0
_INSIST_S = 0.05


class Console:
    """What the console's routes share. `find_sources` returns None before the database is open."""

    def __init__(self, find_sources: Callable[[], Sources | None], idle_seconds: float) -> None:
        self._find_sources = find_sources
        self.logins = Logins(idle_seconds)
        self.wrong_passwords = WrongPasswords()
        self.kept = KeptResults()
        self._threads = AgedPool(MAX_THREADS)
        self._tasks: set[asyncio.Task[None]] = set()
        self._sweeper: asyncio.Task[None] | None = None

    @property
    def sources(self) -> Sources:
        """The open database and its listener; 57P03."""
        return open_sources(self._find_sources)

    def authenticate(self, request: Request) -> tuple[Sources, ConsoleLogin]:
        """Returns whose request it is; 28000 without login, 403 for a change that the page has not asked for."""
        sources = self.sources
        login = self.logins.find(sources, request.cookies.get(name_cookie(request)))
        if request.method not in ("GET", "HEAD"):
            check_csrf(request, login)
        return sources, login

    def start(self, task: Callable[[], T]) -> asyncio.Future[T]:
        """Runs a task on a thread."""

        def run() -> T:
            answer_soon()
            return task()

        return asyncio.wrap_future(self._threads.submit(0, run))

    def cancel(self, tab: Tab, run: int) -> None:
        """Cancels a run, until it has ended."""

        async def insist() -> None:
            while tab.cancel(run):
                await asyncio.sleep(_INSIST_S)

        task = asyncio.get_running_loop().create_task(insist())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def sweep(self) -> None:
        """Ends idle logins and sessions from now on."""
        if self._sweeper is None:
            self._sweeper = asyncio.get_running_loop().create_task(self._keep_sweeping())

    async def _keep_sweeping(self) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            while True:
                await asyncio.sleep(min(_SWEEP_S, self.logins.idle_seconds / 2))
                await self.start(self.logins.end_idle)
                self.kept.drop_ended()

    def close(self) -> None:
        """Ends all sessions: the database is about to be closed."""
        self.logins.close()
