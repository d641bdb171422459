"""What a worker caches between statements: columns of tables by file, dictionaries, buffers and build sides.

Imports `limits`, `backend` and `lower`.
"""

from __future__ import annotations
