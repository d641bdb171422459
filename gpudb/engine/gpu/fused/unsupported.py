"""The exception for plans and data that a kernel does not support."""

from __future__ import annotations


class NotFused(Exception):
    """The reason why a part of a plan cannot run as one kernel; the general engine runs it instead."""
