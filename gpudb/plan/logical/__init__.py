"""Builds the logical plan of a bound query, block by block.

May import `errors`, `tree` and `dask` of the plan, and nothing else of it.
"""

from __future__ import annotations
