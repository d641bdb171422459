"""Runs the stages of a statement on the workers and fetches its result."""

from __future__ import annotations
