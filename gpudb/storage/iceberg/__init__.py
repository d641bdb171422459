"""Tables as Apache Iceberg: schemas, metadata, statistics, data files, and scans over them.

May import `row_errors` and `object_stores` of storage, and nothing else of it. `schema` and `metadata` import
pyiceberg.
"""

from __future__ import annotations
