"""DuckDB as a foundation: expressions as DuckDB SQL, literals, error translation and Python functions.

`expressions` renders bound expressions, `literals` constants, `output_casts` the columns of a result. `errors`
translates DuckDB's errors, `cursors` pools cursors, `udf` holds the user-defined functions in Python.
Storage, the embedded engine and the GPU engine's host fallback build on this package; it imports none of them.
"""

from __future__ import annotations
