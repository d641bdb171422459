"""The catalog's database: definitions, table pointers and sequences in SQLite or PostgreSQL, and their three-way merge.

May import `locks` and `private_files` of storage, and nothing else of it.
"""

from __future__ import annotations
