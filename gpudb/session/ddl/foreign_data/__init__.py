"""Foreign data: wrappers, servers, user mappings and their options, and the definitions of others' tables.

Imports nothing else of `ddl`; foreign tables are in `tables`.
"""

from __future__ import annotations
