"""Nodes of plans and stages, and the functions that traverse, rebuild and analyse them.

May import `sql` and the rooms below it, and nothing else of the plan.
"""

from __future__ import annotations
