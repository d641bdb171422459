"""asv: binding of TPC-H's queries from text, and from the plan cache."""

from __future__ import annotations

from typing import Any

from benchmarks.tables import queries, schema


class Bind:
    """Median of the 22 queries for `time_text_to_bound`; each is parsed and bound without the plan cache."""

    params = tuple(sorted(queries("tpch")))
    param_names = ("query",)

    def setup(self, query: str) -> None:
        """An empty database with TPC-H's tables."""
        from gpudb.session.database import Database

        self.database: Any = Database()
        self.session: Any = self.database.session("gpudb")
        for statement in schema("tpch"):
            list(self.session.run(statement))
        self.text = queries("tpch")[query]
        self.prepare(self.text)
        self.number = 0

    def teardown(self, query: str) -> None:
        """Closes it."""
        self.database.close()

    def prepare(self, text: str) -> None:
        """Cost of a client's Parse and Describe, without the wire."""
        self.session.prepare(text)
        self.session.sync()

    def time_text_to_bound(self, query: str) -> None:
        """Binds a new text: each has another comment at its end."""
        self.number += 1
        self.prepare(f"{self.text} -- {self.number}")

    def time_repeated(self, query: str) -> None:
        """Binds the same text again."""
        self.prepare(self.text)
