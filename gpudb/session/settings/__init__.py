"""Settings (SET and SHOW): definitions, values and checks."""

from __future__ import annotations
