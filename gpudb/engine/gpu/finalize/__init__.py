"""The final stage of a statement on the host: merges groups, divides averages, sorts and limits.

Imports `exchange` and the layers below it.
"""

from __future__ import annotations
