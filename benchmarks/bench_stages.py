"""asv: the cluster's overhead per statement on four CPU workers; as a program it prints a table.

The work is the sum of the slowest worker's time in each stage: the overhead is messages, exchanges, threads and the
result. On fewer cores than workers the overhead includes other workers' work, which the cores do in sequence.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import replace
from typing import Any

WORKERS = 4
STATEMENTS = {
    "one stage": "SELECT id, price FROM orders WHERE id <= 3",
    "two stages": "SELECT count(*), sum(price) FROM orders",
    "three stages": "SELECT k, sum(price) FROM orders GROUP BY k ORDER BY k",
}


class Stages:
    """Medians in milliseconds."""

    params = tuple(STATEMENTS)
    param_names = ("statement",)
    unit = "ms"
    timeout = 300

    def setup(self, statement: str) -> None:
        """Creates a table of 20,000 rows that the workers have loaded."""
        from gpudb.config.database import EMBEDDED
        from gpudb.session.database import Database

        self.database: Any = Database(None, replace(EMBEDDED, engine="twin", workers=WORKERS))
        self.session: Any = self.database.session("gpudb")
        self._run(
            "CREATE TABLE orders AS SELECT i AS id, i % 7 AS k, (i % 100) / 4.0::numeric(10,2) AS price"
            " FROM generate_series(1, 20000) i"
        )
        self._run("SET gpudb.fallback = off")
        self.streams: list[Any] = []
        cluster = self.database.engine._cluster
        start = cluster.run

        def run(request: Any) -> Any:
            self.streams.append(start(request))
            return self.streams[-1]

        cluster.run = run
        self.measure(statement, 5)

    def teardown(self, statement: str) -> None:
        """Ends the workers."""
        self.session.close()
        self.database.close()

    def _run(self, sql: str) -> int:
        return sum(batch.num_rows for result in self.session.run(sql) for batch in result.batches)

    def measure(self, statement: str, runs: int = 60) -> tuple[float, float, float]:
        """Medians of the whole time, of the work in it, and of the difference."""
        whole, work = [], []
        for _ in range(runs):
            started = time.perf_counter()
            self._run(STATEMENTS[statement])
            whole.append(1000 * (time.perf_counter() - started))
            measured = self.streams.pop().measured
            work.append(sum(max(stage.milliseconds, default=0.0) for stage in measured.values()))
        rest = [a - b for a, b in zip(whole, work)]
        return statistics.median(whole), statistics.median(work), statistics.median(rest)

    def track_overhead(self, statement: str) -> float:
        """The overhead of a statement."""
        return self.measure(statement)[2]

    def track_whole(self, statement: str) -> float:
        """The whole time."""
        return self.measure(statement)[0]


def main() -> None:
    """Prints each statement's medians."""
    print(f"{'':14}{'whole':>8}{'work':>8}{'beyond':>8}   ms, {WORKERS} workers")
    for statement in STATEMENTS:
        stages = Stages()
        stages.setup(statement)
        try:
            print(f"{statement:14}" + "".join(f"{value:8.1f}" for value in stages.measure(statement)), flush=True)
        finally:
            stages.teardown(statement)


if __name__ == "__main__":
    main()
