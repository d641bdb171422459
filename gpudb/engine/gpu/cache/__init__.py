"""What a worker caches between statements: columns of tables by file, dictionaries, buffers and build sides.

Imports `lower` and the layers below it.
"""

from __future__ import annotations
