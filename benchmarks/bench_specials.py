"""Cost of NaN and infinities in numeric: the same queries with a check for reserved values."""

from __future__ import annotations

import duckdb

ROWS = 5_000_000
_SPECIAL = "9999999999999.97"  # from here on a numeric(15,2) would be NaN or infinite
_EITHER = f"x >= {_SPECIAL} OR y >= {_SPECIAL}"
_PLAIN = {
    "sum": "SELECT sum(x) FROM t",
    "sum of products": "SELECT sum(x * y) FROM t",
    "filter": "SELECT count(*) FROM t WHERE x + y > 1000",
}
_CHECKED = {
    "sum": f"SELECT CASE WHEN bool_or(x >= {_SPECIAL}) THEN -1 ELSE sum(x) END FROM t",
    "sum of products": f"SELECT CASE WHEN bool_or({_EITHER}) THEN -1 ELSE"
    f" sum(CASE WHEN {_EITHER} THEN 0 ELSE x * y END) END FROM t",
    "filter": f"SELECT count(*) FROM t WHERE CASE WHEN {_EITHER} THEN NULL ELSE x + y > 1000 END",
}


class NumericSpecials:
    """CPU time over ROWS rows of two numeric(15,2), one thread."""

    params = tuple(_PLAIN)
    param_names = ("query",)

    def setup(self, query: str) -> None:
        """Creates the table in memory."""
        self.database = duckdb.connect()
        self.database.execute("SET threads = 1")
        made = "CAST((i * 7919 % 10000000) / 100 AS DECIMAL(15,2))"
        self.database.execute(f"CREATE TABLE t AS SELECT {made} AS x, {made} AS y FROM range({ROWS}) AS r(i)")

    def teardown(self, query: str) -> None:
        """Closes the database."""
        self.database.close()

    def time_plain(self, query: str) -> None:
        """Without the check: every value is a number."""
        self.database.execute(_PLAIN[query]).fetchall()

    def time_checked(self, query: str) -> None:
        """With the largest values reserved."""
        self.database.execute(_CHECKED[query]).fetchall()
