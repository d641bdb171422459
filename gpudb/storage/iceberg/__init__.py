"""Tables as Apache Iceberg: schemas, metadata, statistics, data files, and scans over them."""

from __future__ import annotations
