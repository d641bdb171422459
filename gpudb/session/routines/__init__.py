"""Functions, procedures and aggregates that users define."""

from __future__ import annotations
