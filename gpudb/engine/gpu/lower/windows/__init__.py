"""Window functions: sorted rows, window frames, and aggregates over frames.

May import `groups`, `expressions` and what is below them in `lower`.
"""

from __future__ import annotations
