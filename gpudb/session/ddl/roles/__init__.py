"""Roles: CREATE, ALTER and DROP ROLE, their options, logins and memberships.

Imports nothing else of `ddl`.
"""

from __future__ import annotations
