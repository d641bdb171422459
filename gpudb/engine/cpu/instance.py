"""A DuckDB database in memory with its macros and functions, loaded tables and system catalog."""

from __future__ import annotations

from importlib.resources import files

import duckdb

from gpudb.duckdb.cursors import Cursors
from gpudb.duckdb.udf import registry
from gpudb.engine.cpu.loaded_tables import LoadedTables
from gpudb.engine.cpu.system_catalog import SystemCatalog

Config = dict[str, str | bool | int | float | list[str]]


class Instance:
    """A running DuckDB. After a fatal error it refuses all statements, and is replaced."""

    def __init__(self, config: Config) -> None:
        self.connection = duckdb.connect(":memory:", config=config)
        self.connection.execute(
            "SET default_null_order = 'nulls_last'; SET arrow_large_buffer_size = false;"
            " SET GLOBAL order_by_non_integer_literal = true"
        )
        registry.register(self.connection)  # before the macros, which refer to them
        self.connection.execute(files("gpudb.engine.cpu").joinpath("macros.sql").read_text(encoding="utf-8"))
        self.loaded = LoadedTables(self.connection, self._memory() // 2)
        self.system = SystemCatalog(self.connection)
        self.cursors = Cursors(self.connection)

    def _memory(self) -> int:
        row = self.connection.execute("SELECT memory_limit FROM pragma_database_size()").fetchone()
        text = str(row[0]) if row else "1 GiB"
        number, unit = text.split(" ")
        return int(float(number) * {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}[unit])

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
