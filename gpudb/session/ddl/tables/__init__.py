"""Tables: CREATE TABLE and its clauses, ALTER TABLE, temporary tables and foreign tables.

May import the rooms of a table's parts: `indexes`, `constraints`, `partitions`, `views`, `foreign_data`.
"""

from __future__ import annotations
