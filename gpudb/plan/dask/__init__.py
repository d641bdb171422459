"""dask-sql as the planner: encodes a bound query as text, plans it, and decodes the relational plan.

Only `planner` imports dask-sql. May import `errors` and `tree` of the plan, and nothing else of it.
"""

from __future__ import annotations
