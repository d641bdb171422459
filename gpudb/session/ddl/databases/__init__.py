"""Databases and what is in them before any table: schemas, extensions, and the settings with which sessions begin.

May import `types` and `foreign_data` of `ddl`, whose objects change owners and are parts of extensions.
"""

from __future__ import annotations
