"""The lanes in which a worker computes side by side, and how urgent they are to its device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

Lane = Literal["long", "short", "at once"]
URGENCY: Final[Mapping[Lane, int]] = {"long": 0, "short": 1, "at once": 2}
"""What is more urgent is begun first, of what waits for a place on the device."""
