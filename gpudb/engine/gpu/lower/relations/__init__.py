"""Relations of rows without groups or windows: joins, ASOF joins, set operations, recursion, set-returning functions.

May import `expressions` and what is below it in `lower`.
"""

from __future__ import annotations
