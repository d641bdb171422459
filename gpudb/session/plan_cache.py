"""Cache of bound statements by text: a repeated statement is neither parsed nor bound again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from gpudb.lru import LruCache
from gpudb.session.results import ResultColumn
from gpudb.sql.accesses import Accesses
from gpudb.sql.bound import FileScan, FrameScan, RowLock, Select, SetOperation, Statement, SystemScan
from gpudb.sql.parse.parser import RawStatement
from gpudb.sql.traverse import walk
from gpudb.types import CARRIED_SCALE, SqlType
from gpudb.values.datetime_style import DateTimeStyle

SIZE = 2048
LONGEST = 16 << 10
"""Maximum length of a cached text in characters: a longer one contains data and is unlikely to repeat."""
_REBOUND = 256
"""Statements over files that are kept."""


@dataclass(slots=True)
class Plan:
    """A bound statement with the types of its parameters and its result columns (None: no rows).

    `session_calls` is whether it contains calls that the session runs; `checked` becomes true once its constants have
    been evaluated. `uses_layout` is whether the layout of carried numerics changes it, `scale` the layout in which it
    last succeeded if that is not its own. `authorized` is the plan to run for each role that may run the statement
    and each value of row_security, as far as asked. `row_locks` are the locks to take before it runs, `catalog_version`
    is the version of the catalog that it was bound to.
    """

    statement: RawStatement
    bound: Statement
    parameters: tuple[SqlType, ...]
    columns: tuple[ResultColumn, ...] | None
    session_calls: bool = False
    checked: bool = False
    uses_layout: bool = False
    scale: int | None = None
    accesses: Accesses = field(default_factory=Accesses, repr=False)
    row_locks: tuple[RowLock, ...] = ()
    catalog_version: int = -1
    authorized: dict[tuple[str, str], Plan] = field(default_factory=dict, repr=False, compare=False)


class Key(NamedTuple):
    """What a bound statement depends on: definitions by the catalog's version, names and literals by settings.

    `scale` is that of its carried numerics, `friendly` whether it was read with the constructs of `sql.parse.friendly`.
    """

    text: str
    version: int
    search_path: tuple[str, ...]
    timezone: str
    style: DateTimeStyle
    oids: tuple[int, ...] = ()
    scale: int = CARRIED_SCALE
    friendly: bool = True


def _differs_by_statement(node: object) -> bool:
    """Returns whether equal scans may have other rows in another statement."""
    return isinstance(node, SystemScan | FrameScan) or (isinstance(node, FileScan) and not node.files.is_plain)


class PlanCache:
    """The most recently used plans of a database. Thread-safe."""

    def __init__(self, size: int = SIZE) -> None:
        self._plans: LruCache[Key, Plan] = LruCache(size)
        self._rebound: LruCache[Key, Statement] = LruCache(_REBOUND)
        self.hits = 0
        self.misses = 0

    def get(self, key: Key) -> Plan | None:
        """Returns the plan of a key."""
        plan = self._plans.get(key)
        if plan is None:
            self.misses += 1
        else:
            self.hits += 1
        return plan

    def put(self, key: Key, plan: Plan) -> None:
        """Adds a plan and evicts the least recently used one."""
        if len(key.text) > LONGEST:
            return
        self._plans.put(key, plan)

    def reuse(self, key: Key, bound: Statement) -> Statement:
        """Returns what the text of a query was last bound to, if that is equal, with all that engines prepared for it.

        The query has been bound anew since it reads files, which may have changed.
        """
        if not isinstance(bound, Select | SetOperation):
            return bound
        known = self._rebound.get(key)
        if known is not None and known == bound:
            return known
        if len(key.text) <= LONGEST and not any(map(_differs_by_statement, walk(bound))):
            self._rebound.put(key, bound)
        return bound

    def __len__(self) -> int:
        """Number of plans."""
        return len(self._plans)
