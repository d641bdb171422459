"""Partitions: keys and bounds; CREATE TABLE … PARTITION OF, ATTACH and DETACH; ALTER TABLE of partitioned tables.

Of `ddl` imports `parse_nodes` alone.
"""

from __future__ import annotations
