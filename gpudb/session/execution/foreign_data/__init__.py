"""Data that lie elsewhere: files, object storage and other PostgreSQL servers, as tables that a statement reads.

Imports nothing else of `execution`.
"""

from __future__ import annotations
