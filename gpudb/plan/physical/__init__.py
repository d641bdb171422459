"""Plans where rows are computed: distributions, exchanges and stages.

May import `tree`, `cost` and `optimize` of the plan, and nothing else of it.
"""

from __future__ import annotations
