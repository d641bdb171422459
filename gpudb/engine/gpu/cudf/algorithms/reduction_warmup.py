"""Compiles CuPy's reductions in the background, once on a machine, so that no statement waits for them."""

from __future__ import annotations

import logging
from threading import Thread

import cupy
import numpy as np

from gpudb.engine.gpu.cudf.memory.streams import current_stream, synchronize

_LOG = logging.getLogger(__name__)


def start() -> None:
    """Starts the compilation; the results are cached on disk."""
    Thread(target=_compile, name="reductions", daemon=True).start()


def _compile() -> None:
    try:
        current_stream()
        truths = cupy.ones(2, np.bool_)
        for reduction in (truths.all, truths.sum, truths.any):
            reduction()
        synchronize()
    except Exception as error:
        _LOG.warning("compiling reductions failed: %s", error)
