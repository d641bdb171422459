"""Statements for objects of any kind: DROP, RENAME, SET SCHEMA, COMMENT, REASSIGN OWNED and DROP OWNED.

May import every other room of `ddl`, whose functions do the work for their kind of object.
"""

from __future__ import annotations
