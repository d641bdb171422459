"""Text columns that travel as codes or row positions, and where in a stage that is worth it.

May import `groups`, `expressions` and what is below them in `lower`.
"""

from __future__ import annotations
