"""Checks of keys and foreign keys, over the key columns alone.

May import `catalog` and `iceberg` of storage.
"""

from __future__ import annotations
