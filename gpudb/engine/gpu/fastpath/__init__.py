"""Short statements without staged execution: one kernel a worker, over a socket past Dask and its event loops."""

from __future__ import annotations
