"""From a bound query to stages: planning, constant folding, capability check and admission cost.

Imports `stage` for its memory limits and for the dry run of stages, and the layers below it; nothing of `worker`.
"""

from __future__ import annotations
