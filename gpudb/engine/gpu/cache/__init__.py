"""What a worker keeps between statements: columns of tables by file, dictionaries, buffers, prepared stages."""

from __future__ import annotations
