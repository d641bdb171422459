"""Estimates rows, distinct values, ranges and selectivities from statistics and samples.

May import `tree` of the plan, and nothing else of it.
"""

from __future__ import annotations
