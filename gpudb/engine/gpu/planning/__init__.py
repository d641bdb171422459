"""From a bound query to stages: planning, constant folding, capability check and admission cost.

Imports `cluster` and `worker` for their limits and their dry run, and every layer below them.
"""

from __future__ import annotations
