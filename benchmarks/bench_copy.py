"""asv: COPY FROM STDIN of taxi rides into a session, without the wire."""

from __future__ import annotations

from typing import Any

from benchmarks.tables import schema

ROWS = 50_000


class Copy:
    """Rows per call: ROWS, of 51 columns."""

    number = 1
    repeat = 3
    warmup_time = 0
    timeout = 300

    def setup(self) -> None:
        """Opens a durable database in a temporary directory, and writes the rides as CSV."""
        import tempfile
        from pathlib import Path

        import gpudb
        from gpudb.demo.taxi import generate_csv

        self.folder: Any = tempfile.TemporaryDirectory(prefix="gpudb-asv-")
        self.connection: Any = gpudb.connect(Path(self.folder.name) / "data")
        self.connection.execute(schema("taxi")[0])
        self.pieces = list(generate_csv(ROWS, seed=1))

    def teardown(self) -> None:
        """Deletes the directory."""
        self.connection.close()
        self.folder.cleanup()

    def time_copy(self) -> None:
        """Parses the CSV, writes Parquet and commits."""
        self.connection.copy_from("COPY trips FROM STDIN (FORMAT csv)", self.pieces)
