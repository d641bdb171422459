"""What a transaction holds and sees: advisory locks, locking clauses, savepoints, and snapshots, also shared ones.

Imports nothing else of `execution`.
"""

from __future__ import annotations
