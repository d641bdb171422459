"""GRANT and REVOKE of privileges, and ALTER DEFAULT PRIVILEGES.

May import the rooms of `ddl` that find an object to grant on: `databases`, `indexes`, `foreign_data`.
"""

from __future__ import annotations
