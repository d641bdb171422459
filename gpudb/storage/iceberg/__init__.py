"""Tables as Apache Iceberg: schemas, metadata, statistics, data files, and scans over them.

May import `row_errors`, `private_files` and `object_stores` of storage, and nothing else of it. What reads and writes
metadata imports pyiceberg; scans, statistics and data files do without it.
"""

from __future__ import annotations
