"""Requests to the engine: a bound query with the session's settings, and with Arrow tables that it reads as frames."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

import pyarrow as pa

from gpudb.catalog.model import Catalog
from gpudb.engine.protocol import Request, Settings, SharedRows, Stream
from gpudb.engine.sharing import SharePlace
from gpudb.session.context import Context
from gpudb.session.execution.binding.literal_rows import LITERAL_ROWS, get_literal_rows
from gpudb.session.execution.foreign_data.foreign_tables import open_foreign_scans
from gpudb.session.execution.system import cluster_tables, session_functions, system_tables
from gpudb.session.settings.catalog import SettingValues
from gpudb.sql.bound import ForeignScan, Query
from gpudb.sql.prepared import Artifact
from gpudb.sql.traverse import walk
from gpudb.values.datetime_style import parse_style
from gpudb.vector_indexes.definition import SearchEffort

_READS_FOREIGN: Artifact[bool] = Artifact()
K = TypeVar("K")
V = TypeVar("V")


class LazyMapping(Mapping[K, V]):
    """A mapping that is built on first access: most statements never read it."""

    def __init__(self, build: Callable[[], Mapping[K, V]]) -> None:
        self._build: Callable[[], Mapping[K, V]] | None = build
        self._items: Mapping[K, V] = {}

    def _all(self) -> Mapping[K, V]:
        build, self._build = self._build, None
        if build is not None:
            self._items = build()
        return self._items

    def __getitem__(self, key: K) -> V:
        return self._all()[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())


def build_request(
    context: Context, query: Query, frames: Mapping[str, pa.Table] | None = None, snapshot: Catalog | None = None
) -> Request:
    """Returns a request for a query that reads `frames` by name beside the session's own.

    The query reads `snapshot` instead of the transaction's catalog if that is given.
    """
    settings = _settings(context)
    if _reads_foreign_tables(query):
        query = open_foreign_scans(context, query)
    if frames:
        settings = replace(settings, frames={**settings.frames, **frames})
    rows = context.statement.rows
    if rows is not None and (literal_rows := get_literal_rows(rows)) is not None:
        settings = replace(settings, frames={**settings.frames, LITERAL_ROWS: literal_rows})
    catalog = context.transaction.catalog if snapshot is None else snapshot
    return Request(query, catalog, settings, context.parameters, context.cancel)


def _reads_foreign_tables(query: Query) -> bool:
    known = query.prepared.get(_READS_FOREIGN)
    if known is None:
        known = query.prepared.put(_READS_FOREIGN, any(isinstance(node, ForeignScan) for node in walk(query)))
    return known


def _settings(context: Context) -> Settings:
    """The session state on which a result depends."""
    session = context.session
    node = context.statement.direct_node
    return Settings(
        session.settings["timezone"],
        LazyMapping(lambda: session_functions.values(context)),
        dict(session.frames) if session.frames else {},
        session.search_path(),
        LazyMapping(lambda: system_tables.tables(context)),
        session.settings["gpudb.fallback"] == "on",
        context.notice,
        session.process_id,
        None if node is None else cluster_tables.find_worker(context, node),
        session.settings["gpudb.fused"] == "on",
        str(session.identity.authenticated),  # SET ROLE does not change whose limits count
        int(session.settings["gpudb.max_running_statements"]),
        session.measures,
        session.resource_group.of_engines,
        int(session.settings["gpudb.function_memory"]) << 20,
        _search_effort(session.settings),
        parse_style(session.settings["datestyle"], session.settings["intervalstyle"]),
    )


def _search_effort(settings: SettingValues) -> SearchEffort:
    """How far searches of indexes of vectors look."""
    return SearchEffort(
        settings["enable_indexscan"] == "on",
        int(settings["hnsw.ef_search"]),
        int(settings["cagra.itopk_size"]),
        int(settings["ivfflat.probes"]),
        int(settings["ivf_flat.probes"]),
        int(settings["ivf_pq.probes"]),
    )


def run_on_engine(
    context: Context, query: Query, frames: Mapping[str, pa.Table] | None = None, snapshot: Catalog | None = None
) -> Stream:
    """Runs a query without session calls on the engine (see `build_request`)."""
    request = build_request(context, query, frames, snapshot)
    if context.session.running.explains_slow:
        context.session.running.slow_request = request
    return context.session.database.engine.run(request)


def share_on_engine(context: Context, query: Query, place: SharePlace = SharePlace.HOST) -> SharedRows:
    """Runs a query without session calls and leaves its rows in the workers' memory (see `Engine.share`)."""
    return context.session.database.engine.share(build_request(context, query), place)


def fetch_from_engine(context: Context, query: Query, frames: Mapping[str, pa.Table] | None = None) -> pa.Table:
    """Runs a query without session calls on the engine; all rows, as columns c1, c2, …"""
    return collect(run_on_engine(context, query, frames))


def collect(stream: Stream) -> pa.Table:
    """Reads a stream to its end and closes it."""
    try:
        return pa.Table.from_batches(list(stream), schema=stream.schema)
    finally:
        stream.close()
