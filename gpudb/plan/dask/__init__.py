"""dask-sql as the planner: a bound query is encoded as text, planned, and decoded. Only `planner` imports it."""

from __future__ import annotations
