"""EXPLAIN of plans that run on the cluster."""

from __future__ import annotations
