"""How a bound query is computed: binding, the plan cache, routine calls, sequences and system functions."""

from __future__ import annotations
