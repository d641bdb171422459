"""Nodes of plans and stages, and the functions that traverse, rebuild and analyse them.

May import `errors` of the plan, and nothing else of it.
"""

from __future__ import annotations
