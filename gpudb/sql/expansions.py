"""What the constructs of a query stand for that depend on the catalog: columns of stars, positions, whole queries.

A binder collects them, and rewrite rules put them into a query that the catalog is about to store.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from gpudb.errors import FeatureNotSupported

Names = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Expansions:
    """What the constructs of a text stand for.

    - `stars`: the names of the columns of each `*`, and of COLUMNS, by its location.
    - `positions`: the output columns, from 1, of each ALL of GROUP BY and ORDER BY, by its location.
    - `queries`: the parse tree of the query that each table expression stands for, by the bytes of its call.
    - `calls`: the parse tree of the expression that each call of a composed function stands for, by the call's bytes;
      of a call of the database's own routine, the call by its OID.
    - `objects`: the OID and the type, as regclass, of each literal that names an object, by the literal's bytes.
    - `names`: the name of each item of a select list that has none of its own, by the item's bytes.
    """

    stars: dict[int, Names] = field(default_factory=dict)
    positions: dict[int, tuple[int, ...]] = field(default_factory=dict)
    queries: dict[bytes, Any] = field(default_factory=dict)
    calls: dict[bytes, Any] = field(default_factory=dict)
    objects: dict[bytes, tuple[int, str]] = field(default_factory=dict)
    names: dict[bytes, str] = field(default_factory=dict)

    def record(self, written: Any, made: Any, name: str) -> None:
        """Records what a call, a message, of a function stands for; 0A000 if it stands for several expressions."""
        if self.calls.setdefault(written.SerializeToString(deterministic=True), made) != made:
            message = f"{name} of columns of several types is not supported in what is stored"
            raise FeatureNotSupported(message)


def name_repeated(name: str, alias: str, pattern: str | None) -> str:
    """Returns the name of an item of COLUMNS: the alias, where `\\1` is a group of the pattern, or the column's."""
    if not alias or pattern is None or "\\" not in alias:
        return alias or name
    found = pc.replace_substring_regex(pa.array([name]), f"^.*?(?:{pattern}).*$", alias)
    return str(found[0].as_py())
