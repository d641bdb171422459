"""Settings (SET and SHOW): their definitions and the checks of their values."""

from __future__ import annotations
