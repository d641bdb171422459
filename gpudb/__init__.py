"""gpudb: a distributed GPU analytics database that speaks PostgreSQL.

The package's rooms, each of which imports only from those named before it:
`errors`, `config`, `types`; `functions`; `catalog`; `sql`; `plan`; `storage`; `engine`; `session`;
`server`, `ml` and `api`; `cli` and `demo`. Importing `gpudb` imports no CUDA package.
"""

from __future__ import annotations

__version__ = "0.1.0"
