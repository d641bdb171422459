"""The protocol of compute backends, its host implementation by Polars, and the priorities of a worker's threads.

Imports no other layer of this package.
"""

from __future__ import annotations
