"""The classes of buenavista that are bases here, imported without its SQL rewriter.

The rewriter is not used, and the library that it imports, sqlglot, takes a tenth of a server's start.
"""

from __future__ import annotations

import sys
import types

_REWRITER = "buenavista.rewrite"

if _REWRITER in sys.modules:
    from buenavista.postgres import BuenaVistaHandler, BuenaVistaServer, BVBuffer, BVContext
else:
    _stand_in = types.ModuleType(_REWRITER)
    _stand_in.Rewriter = object  # type: ignore[attr-defined]
    sys.modules[_REWRITER] = _stand_in
    try:
        from buenavista.postgres import BuenaVistaHandler, BuenaVistaServer, BVBuffer, BVContext
    finally:
        del sys.modules[_REWRITER]

__all__ = ["BVBuffer", "BVContext", "BuenaVistaHandler", "BuenaVistaServer"]
