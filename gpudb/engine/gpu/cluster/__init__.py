"""The worker processes: configuration, launch, membership, supervision and restart."""

from __future__ import annotations
