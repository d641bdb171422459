"""The protocol of engines: a bound query and a snapshot in, Arrow batches out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypedDict

import pyarrow as pa

from gpudb.catalog.model import Catalog
from gpudb.catalog.partition_trees import assemble
from gpudb.catalog.resource_groups import ResourceGroup
from gpudb.catalog.tables import Table
from gpudb.engine.figures import StageFigures
from gpudb.engine.sharing import SharedPart, SharePlace
from gpudb.errors import QueryCanceled, SqlError, UndefinedTable
from gpudb.sql.bound import Query
from gpudb.values.datetime_style import DateTimeStyle
from gpudb.vector_indexes.definition import SearchEffort


class Measures(TypedDict, total=False):
    """What a session measures of a statement; a statement that is prepared and of constants has no entries.

    `parse`, `bind` and `plan` are seconds; `engine` ran it, and `fallback` is the construct for which the cluster did
    not. `stages` ran on workers, which wrote `spilled` bytes to files; `digest` is their plan's. Without stages, on the
    fast path, kernels read `fast_path_bytes` of columns.
    """

    parse: float
    bind: float
    plan: float
    engine: str
    fallback: str
    stages: Sequence[StageFigures]
    spilled: int
    fast_path_bytes: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class Settings:
    """The session state that a result depends on, apart from the snapshot.

    `values` are the results of session functions in this statement (`now`, `current_user`, …), by registered key.
    `frames` are registered Arrow tables. `search_path` resolves names without a schema. `fallback` permits the embedded
    engine for queries that the cluster does not support; `notice` reports it. `system` returns the rows of functions
    over the server's state (`pg_stat_get_activity`, `pg_show_all_settings` …), each row by column name. `session` is
    the session's number: engines share resources fairly among sessions. `node` restricts the query to one worker's
    rows. `fused` enables fused kernels. `role` is the session's role, and `max_running` the limit of its concurrent
    statements, 0 for none; `group` is its resource group if that limits engines. `function_memory` limits the processes
    of functions, in bytes (0: a default). Engines write to `measures`. `nearest` says how far searches of indexes of
    vectors look. `style` is that of dates, timestamps and intervals in texts.
    """

    timezone: str = "UTC"
    values: Mapping[str, object] = field(default_factory=dict)
    frames: Mapping[str, pa.Table] = field(default_factory=dict)
    search_path: tuple[str, ...] = ("public",)
    system: Mapping[str, Callable[[], Sequence[Mapping[str, object]]]] = field(default_factory=dict)
    fallback: bool = True
    notice: Callable[[str], None] = lambda message: None
    session: int = 0
    node: int | None = None
    fused: bool = True
    role: str = ""
    max_running: int = 0
    measures: Measures = field(default_factory=Measures)
    group: ResourceGroup | None = None
    function_memory: int = 0
    nearest: SearchEffort = field(default_factory=SearchEffort)
    style: DateTimeStyle = field(default_factory=DateTimeStyle)


class Cancel:
    """Cancellation flag of a statement: set by a cancel request, a timeout or a lost client.

    An engine attaches callbacks that interrupt it; `stop` may be called from any thread, before or after. `waits_for`
    is the wait event as pg_stat_activity names it; None while the statement runs. `measure`, which an engine sets while
    it computes, returns the fraction of the work that is done, None if it is unknown; any thread may call it.
    """

    def __init__(self) -> None:
        self.waits_for: str | None = None
        self.measure: Callable[[], float | None] | None = None
        self.is_stopped = False
        """Whether the statement was stopped: what `check` asks, for loops that cannot afford a call."""
        self._lock = threading.Lock()
        self._reason: str | None = None
        self._interrupts: dict[int, object] = {}

    @property
    def reason(self) -> str | None:
        """Why the statement was stopped; None if it was not."""
        return self._reason

    def stop(self, reason: str = "canceling statement due to user request") -> None:
        """Stops the statement; the first reason is kept."""
        with self._lock:
            self._reason = self._reason or reason
            self.is_stopped = True
            interrupts = list(self._interrupts.values())
        for interrupt in interrupts:
            interrupt()  # type: ignore[operator]

    def attach(self, interrupt: object) -> None:
        """Adds a callback for `stop`; calls it at once if the statement was already stopped."""
        with self._lock:
            self._interrupts[id(interrupt)] = interrupt
            stopped = self._reason is not None
        if stopped:
            interrupt()  # type: ignore[operator]

    def detach(self, interrupt: object) -> None:
        """Removes a callback whose work has ended."""
        with self._lock:
            self._interrupts.pop(id(interrupt), None)

    def check(self) -> None:
        """Raises 57014 if the statement was stopped."""
        if self._reason is not None:
            raise QueryCanceled(self._reason)


@dataclass(frozen=True, slots=True)
class Request:
    """A query to run: its snapshot (a transaction's uncommitted files included) and its parameters' values."""

    query: Query
    snapshot: Catalog
    settings: Settings = Settings()
    parameters: tuple[object, ...] = ()
    cancel: Cancel = field(default_factory=Cancel)

    def table(self, bound: Table) -> Table:
        """Returns a table of the query in the snapshot; 55000 for an unpopulated materialized view.

        An earlier snapshot is the one that the query was bound to, and so are files. A partitioned table has the files
        of its partitions.
        """
        if bound.past_of or bound.format:
            return bound
        found = self.snapshot.relations.get((bound.schema, bound.name))
        if not isinstance(found, Table) or found.oid != bound.oid:
            raise UndefinedTable(f'relation "{bound.name}" does not exist')
        if not found.populated:
            message = f'materialized view "{found.name}" has not been populated'
            hint = "Use the REFRESH MATERIALIZED VIEW command."
            raise SqlError.of("object_not_in_prerequisite_state", message, hint=hint)
        return found if found.partitioned_by is None else assemble(self.snapshot, found)


@dataclass(frozen=True, slots=True)
class WorkerShare:
    """One worker's part in an operator: its output rows and bytes, and the time it took."""

    worker: int
    rows: int
    bytes: int
    milliseconds: float


@dataclass(frozen=True, slots=True)
class PlanNode:
    """An operator of a plan for EXPLAIN: `milliseconds` exclude its inputs.

    `width` is the estimated row size in bytes; `output` are the columns' names, for VERBOSE; `shares` are the workers'
    parts. `execution` is the statement's own time in milliseconds, if measuring each operator took longer; of it,
    kernels that are compiled were awaited for `compiling`, and columns were read into memory for `loading`, on the
    worker on which that took longest. `planning` are the milliseconds for which the engine itself planned.
    """

    operator: str
    details: tuple[tuple[str, str], ...] = ()
    estimated_rows: int | None = None
    rows: int | None = None
    milliseconds: float | None = None
    inputs: tuple[PlanNode, ...] = ()
    width: int | None = None
    output: tuple[str, ...] = ()
    shares: tuple[WorkerShare, ...] = ()
    execution: float | None = None
    planning: float = 0.0
    compiling: float = 0.0
    loading: float = 0.0


class Stream(Protocol):
    """The rows of a running query: batches of its columns, each of `SqlType.arrow`."""

    schema: pa.Schema

    def __iter__(self) -> Iterator[pa.RecordBatch]: ...

    def close(self) -> None:
        """Stops the query if it is running, and releases its resources."""


class SharedRows(Protocol):
    """A result that stays in the workers' memory until it is closed."""

    parts: tuple[SharedPart, ...]

    def close(self) -> None:
        """Lets the workers free the rows; idempotent."""


class Engine(Protocol):
    """An engine: it runs bound queries over a snapshot, whose tables list their data files."""

    name: str
    scores_trees: bool
    """Whether queries may have scores by ensembles of trees, for which `run` and `explain` may raise
    NotSupportedOnWorkers.
    """

    def run(self, request: Request) -> Stream:
        """Starts a query. Errors are raised here or while the stream is read, with PostgreSQL's SQLSTATE."""

    def share(self, request: Request, place: SharePlace = SharePlace.HOST) -> SharedRows:
        """Runs a query of numbers to its end and leaves its rows in memory of the workers.

        0A000 for an engine without workers, or what they do not support.
        """

    def explain(self, request: Request, *, analyze: bool) -> PlanNode:
        """Returns the plan; `analyze` runs the query and includes actual rows and times."""

    def close(self) -> None:
        """Releases all resources."""
