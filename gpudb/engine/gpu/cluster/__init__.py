"""The worker processes: configuration, security, launch, membership, supervision and restart.

Runs in the server's process. Imports `worker`, whose plugin it installs, and the layers below it.
"""

from __future__ import annotations
