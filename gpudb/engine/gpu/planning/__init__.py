"""From a bound query to stages: planning, constants, capability check, admission cost."""

from __future__ import annotations
