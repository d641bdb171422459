"""Runs the fused parts of stages on a worker: bound to its packed columns, by NumPy or by a kernel."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import polars as pl

from gpudb.engine.gpu.fused import twin
from gpudb.engine.gpu.fused.launch import Launcher
from gpudb.engine.gpu.fused.match import scan_of
from gpudb.engine.gpu.fused.prepare import Prepared, prepare
from gpudb.engine.gpu.fused.resident import PackedTables
from gpudb.engine.gpu.fused.values import NotFused
from gpudb.engine.gpu.resident import Share
from gpudb.plan.fused import Fused

_LOG = logging.getLogger(__name__)


class Twin:
    """Runs fused parts with NumPy. `declined` tells why the last part ran as the general engine's, if it did."""

    def __init__(self, tables: PackedTables) -> None:
        self._tables = tables
        self.declined: str | None = None
        self.ran = 0

    def __call__(
        self, node: Fused, builds: Sequence[pl.DataFrame], share: Share, parameters: Sequence[object]
    ) -> pl.DataFrame | None:
        """A fused part's columns over a worker's share; None where the data keep it from a kernel."""
        try:
            source = self._tables.source(scan_of(node.root), share, parameters)
            prepared = prepare(node, source, builds, parameters)
        except NotFused as reason:
            self.declined = str(reason)
            _LOG.warning("a fused part runs as the general engine's: %s", reason)
            return None
        self.declined = None
        self.ran += 1
        return prepared.frame(self._run(prepared))

    def _run(self, prepared: Prepared) -> twin.Outcome:
        return twin.run(prepared.pipeline, prepared.segments, prepared.lookups, prepared.tables)


class Kernels(Twin):
    """Runs fused parts on the current GPU, where the packed columns lie."""

    def __init__(self, tables: PackedTables) -> None:
        super().__init__(tables)
        self._launcher = Launcher()

    def _run(self, prepared: Prepared) -> twin.Outcome:
        return self._launcher.run(prepared.pipeline, prepared.segments, prepared.lookups, prepared.tables)
