"""From a bound query to stages: planning, constant folding, capability check and admission cost.

Imports `worker` for its memory limits and for the dry run of stages, and the layers below it.
"""

from __future__ import annotations
