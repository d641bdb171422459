"""The final stage of a statement on the host: merges groups, divides averages, sorts and limits.

Imports `exchange`, `cache`, `fused` and `lower`.
"""

from __future__ import annotations
