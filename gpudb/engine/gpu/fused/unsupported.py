"""What keeps a part of a plan, or the data, from a kernel."""

from __future__ import annotations


class NotFused(Exception):
    """What keeps a part of a plan from being one kernel: it runs as the general engine's."""
