"""One stage on one worker: its execution, its dynamic filters, its chunks, and the figures of its operators.

Workers execute stages; the planner executes them without rows, to find what workers lack. Imports `finalize`, `fused`,
`cache`, `lower` and `backend`, no CUDA package and nothing of `worker`.
"""

from __future__ import annotations
