"""Aggregation: the states of aggregates, sketches and percentiles, and the groups that they are computed for.

May import `relations`, `expressions` and what is below them in `lower`.
"""

from __future__ import annotations
