"""Functions, procedures and aggregates of users: created, altered, dropped and called."""

from __future__ import annotations
