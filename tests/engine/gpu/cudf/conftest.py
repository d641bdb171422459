"""The GPU of the tests, opened once."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(scope="session")
def frames() -> Any:
    """A GPU's backend."""
    from gpudb.engine.gpu.cudf.backend import CudfBackend
    from gpudb.engine.gpu.cudf.memory.device_memory import open_device

    open_device()
    return CudfBackend()
