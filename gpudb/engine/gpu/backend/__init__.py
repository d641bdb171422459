"""The protocol of compute backends, its host implementation by Polars, and the priorities of a worker's threads.

Imports only `limits` of this package.
"""

from __future__ import annotations
