"""Short statements without staged execution: one kernel per worker, over a socket that bypasses Dask.

Imports `finalize` and the layers below it; no module here starts a stage.
"""

from __future__ import annotations
