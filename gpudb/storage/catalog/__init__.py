"""The catalog's database: rows of the catalog, table pointers and sequences in one SQLite file, and their merge."""

from __future__ import annotations
