"""Priorities of a worker's threads, and their urgency on its device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

Priority = Literal["long", "short", "at once"]
URGENCY: Final[Mapping[Priority, int]] = {"long": 0, "short": 1, "at once": 2}
"""Work that waits for the device starts in descending order of urgency."""
