"""What several rooms need of DuckDB: expressions as DuckDB SQL, literals, error translation, Python functions."""

from __future__ import annotations
