"""asv: time until a statement ends after a cancel and after its timeout."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import Any

_N = "generate_series(1::bigint, {})".format
HEAVY = {
    "join": f"SELECT count(*) FROM {_N(400_000)} a(x), {_N(400_000)} b(y) WHERE (x * y) % 7 = 3",
    "sort": f"SELECT max(r) FROM (SELECT row_number() OVER (ORDER BY sin(x), x) r FROM {_N(600_000_000)} g(x)) t",
    "aggregate": f"SELECT count(*) FROM (SELECT x % 40000000 AS k, sum(x) FROM {_N(2_000_000_000)} g(x) GROUP BY 1) t",
    "rows": f"SELECT x FROM {_N(2_000_000_000)} g(x)",
    "binding": "VALUES " + ", ".join(["(1, upper('x'))"] * 50_000),
}
"""Each runs for minutes, "binding" for one, before its first or last row."""
_AFTER_S = 0.2


class Ending:
    """PostgreSQL answers a cancel within milliseconds; so should each phase of a statement."""

    params = tuple(HEAVY)
    param_names = ("statement",)
    unit = "s"

    def setup(self, statement: str) -> None:
        """Opens a database in memory and a session."""
        from gpudb.session.database import Database

        self.database: Any = Database()
        self.session: Any = self.database.session("gpudb")

    def teardown(self, statement: str) -> None:
        """Closes it."""
        self.database.close()

    def _run(self, sql: str) -> None:
        from gpudb.errors import GpudbError

        with contextlib.suppress(GpudbError):
            for result in self.session.run(sql):
                for _ in result.batches or ():
                    pass

    def track_cancelled(self, statement: str) -> float:
        """Returns the seconds from the cancel to the statement's end."""
        told: list[float] = []

        def cancel() -> None:
            told.append(time.perf_counter())
            self.session.cancel()

        timer = threading.Timer(_AFTER_S, cancel)
        timer.start()
        self._run(HEAVY[statement])
        ended = time.perf_counter()
        timer.join()
        return ended - told[0]

    def track_timed_out(self, statement: str) -> float:
        """Returns the seconds from the timeout to the statement's end."""
        self._run(f"SET statement_timeout = {1000 * _AFTER_S:.0f}")
        began = time.perf_counter()
        self._run(HEAVY[statement])
        return time.perf_counter() - began - _AFTER_S

    track_cancelled.unit = track_timed_out.unit = "s"  # type: ignore[attr-defined]
