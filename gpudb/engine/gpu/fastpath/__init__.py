"""Short statements without staged execution: one kernel per worker, over a socket that bypasses Dask.

Imports `finalize`, `exchange`, `fused` and the layers below them; no module here starts a stage.
"""

from __future__ import annotations
