"""The worker processes: configuration, launch, membership, supervision and restart.

Runs in the server's process. Imports every layer up to `worker`, whose plugin it installs.
"""

from __future__ import annotations
