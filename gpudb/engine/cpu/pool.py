"""A DuckDB with limits of its own and the admission of its statements: that of all, or of one resource group."""

from __future__ import annotations

import logging
import threading
from contextlib import ExitStack

from gpudb.duckdb.errors import EngineRestarted, broke_instance, is_fatal, is_over_temp_limit, translate_error
from gpudb.duckdb.instance import Config
from gpudb.engine.admission import LONG, SHORT_SECONDS, Cost, ThreadAdmission, Ticket
from gpudb.engine.cpu.cost import COST, estimate_cost
from gpudb.engine.cpu.instance import EngineInstance
from gpudb.engine.protocol import Request
from gpudb.engine.scheduling import compute_long, end_long
from gpudb.errors import GpudbError, SqlError

_LOG = logging.getLogger(__name__)

_SMALL_SECONDS = 0.02
_SMALL_BYTES = 4 << 20
"""A statement that is estimated to take less time and memory than these runs without admission."""


class EnginePool:
    """The memory, threads and temporary files that some statements share, by DuckDB's own limits in `config`.

    `temp_limit` are the bytes of temporary files, of which `owner` is told where they are exceeded: 53400.
    """

    def __init__(self, config: Config, temp_limit: int | None = None, owner: str = "temp_file_limit") -> None:
        self._config, self._temp_limit, self._owner = config, temp_limit, owner
        self._restart_lock = threading.Lock()
        self._closed = False
        self._instance = EngineInstance(config)
        self.threads = self._instance.threads()
        # The other half may hold loaded tables.
        room = self._instance.memory_limit() // 2
        self._small_bytes = min(_SMALL_BYTES, room // 256)
        # A statement uses all threads: more at once would only keep the short ones from theirs.
        self.admission = ThreadAdmission(room, long=min(LONG, max(2, self.threads // 2)))

    @property
    def bare_instance(self) -> EngineInstance:
        """The DuckDB that runs statements; those that call its functions define them (`Instance.define_for`)."""
        return self._instance

    @property
    def instance(self) -> EngineInstance:
        """The DuckDB that runs statements, with its functions."""
        instance = self._instance
        if not instance.defined and not self._closed:
            instance.define()
        return instance

    @property
    def memory_limit(self) -> int:
        """The bytes that all its statements together may take."""
        return self._instance.memory_limit()

    def set_memory_limit(self, limit: int) -> None:
        """Changes the bytes of memory; raises duckdb.OutOfMemoryException if more are in use and cannot be freed."""
        self._instance.loaded.set_budget(limit // 2)
        config = {**self._config, "memory_limit": f"{limit // 1024}KiB"}
        with self._instance.connection.cursor() as cursor:
            cursor.execute(f"SET memory_limit = '{config['memory_limit']}'")
        self._config = config

    def admit(self, request: Request, stack: ExitStack, *, alone: bool = False) -> Ticket | None:
        """Admits a statement until its end; None for one so small that it needs no admission."""
        cost = request.query.prepared.get(COST) or estimate_cost(request, self.threads)
        if alone:
            cost = Cost(self.admission.room, max(cost.seconds, SHORT_SECONDS))
        elif cost.seconds < _SMALL_SECONDS and cost.bytes < self._small_bytes:
            return None
        ticket = self.admission.admit(cost, request)
        stack.callback(self.admission.leave, ticket)
        compute_long()
        stack.callback(end_long)
        return ticket

    def translate_error(self, instance: EngineInstance, error: BaseException) -> GpudbError:
        """Translates an error; a fatal one replaces the broken instance."""
        if self._temp_limit is not None and is_over_temp_limit(error):
            message = f"temporary file size exceeds {self._owner} ({self._temp_limit // 1024}kB)"
            return SqlError.of("configuration_limit_exceeded", message)
        if not is_fatal(error) or self._closed:
            return translate_error(error)
        with self._restart_lock:
            if self._instance is instance and not instance.alive():
                _LOG.error("the embedded engine failed; restarting it", exc_info=error)
                self._instance = EngineInstance(self._config)
        if self._instance is not instance and not broke_instance(error):
            return EngineRestarted("the embedded engine failed and was started again", hint="Run the statement again.")
        return translate_error(error)

    def close(self) -> None:
        """Closes the database and interrupts running statements."""
        self._closed = True
        self._instance.close()
