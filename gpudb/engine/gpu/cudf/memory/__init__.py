"""A GPU's memory: the device and its memory resource, CUDA streams, and memory of other processes.

Imports nothing else of `cudf`.
"""

from __future__ import annotations
