"""EXPLAIN of plans that run on the cluster.

Imports what the coordinator has measured, and the layers below it.
"""

from __future__ import annotations
