"""The catalog's database: definitions, table pointers and sequences in one SQLite file, and their three-way merge.

May import `catalog`, `types` and `errors` of gpudb, and nothing else of storage.
"""

from __future__ import annotations
