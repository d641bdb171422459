"""A DuckDB database in memory with the settings, functions and macros by which it computes PostgreSQL's results."""

from __future__ import annotations

import threading
from importlib.resources import files

import duckdb

from gpudb.duckdb.cursors import CursorPool
from gpudb.duckdb.literals import quote_literal
from gpudb.duckdb.udf import registry

_TEMP_LIMIT = "max_temp_directory_size"
PREFIXES = ("pg_", "gpudb_", "sys_")
"""One of them begins the name of each function and macro."""

Config = dict[str, str | bool | int | float | list[str]]


class Instance:
    """A running DuckDB. After a fatal error it refuses all statements, and is replaced.

    Statements that call its functions and macros need them: call `define`, or `define_for` with the statement, first.
    """

    def __init__(self, config: Config) -> None:
        started = {name: value for name, value in config.items() if name != _TEMP_LIMIT}
        # The first computes sum(x + constant) from sum(x), and so misses the overflow of an addition. The second reads
        # a column of csv as the type that it is cast to: a bigint cast to text would be the field as it is written.
        started["disabled_optimizers"] = "aggregate_function_rewriter,type_pushdown"
        self.connection = duckdb.connect(":memory:", config=started)
        if _TEMP_LIMIT in config:  # DuckDB ignores it among the others
            self.connection.execute(f"SET {_TEMP_LIMIT} = {quote_literal(str(config[_TEMP_LIMIT]))}")
        self.connection.execute(
            "SET default_null_order = 'nulls_last'; SET arrow_large_buffer_size = false;"
            " SET GLOBAL order_by_non_integer_literal = true"
        )
        self.cursors = CursorPool(self.connection)
        self.defined = False
        self._lock = threading.Lock()

    def define(self) -> None:
        """Defines the functions and macros, which takes longer than everything else here; idempotent."""
        # In a thread, which KeyboardInterrupt does not leave half done: a function cannot be defined twice.
        failures: list[BaseException] = []
        thread = threading.Thread(target=self._define, args=(failures,), name="gpudb-functions")
        thread.start()
        thread.join()
        if failures:
            raise failures[0]

    def define_for(self, sql: str) -> None:
        """Defines the functions and macros if a statement's text may call one: most statements call none."""
        if any(prefix in sql for prefix in PREFIXES):
            self.define()

    def _define(self, failures: list[BaseException]) -> None:
        with self._lock:
            if self.defined:
                return
            try:
                registry.register(self.connection)  # before the macros, which refer to them
                macros = files("gpudb.duckdb").joinpath("macros.sql").read_text(encoding="utf-8")
                self.connection.execute(macros)
                self.defined = True
            except BaseException as error:
                failures.append(error)

    def memory_limit(self) -> int:
        """Returns the bytes of memory that all statements together may use."""
        # All rows are fetched: a result left open keeps a transaction open, and DuckDB would free no dropped table.
        ((limit,),) = self.connection.execute("SELECT memory_limit FROM pragma_database_size()").fetchall()
        number, unit = limit.split(" ")
        return int(float(number) * {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}[unit])

    def threads(self) -> int:
        """Returns the number of threads that compute statements."""
        rows = self.connection.execute("SELECT current_setting('threads')").fetchall()
        return int(rows[0][0])

    def alive(self) -> bool:
        """Returns whether the database still accepts statements."""
        try:
            with self.connection.cursor() as cursor:
                cursor.execute("SELECT 1")
        except duckdb.Error:
            return False
        return True

    def close(self) -> None:
        """Closes the database and interrupts running statements."""
        self.connection.interrupt()
        self.connection.close()
