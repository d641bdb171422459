"""The dictionaries of tables' columns of texts, which grow as columns are packed: codes stay, new texts have new ones.

One lives as long as columns that were packed by it, and parts that are bound to it. Where most of its texts are the
table's no more it is left, and the table's are packed by another.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import polars as pl

from gpudb.catalog.model import Column, Table
from gpudb.engine.gpu.fused.translate.typed_values import Dictionary

FEW = 1 << 16
"""So many texts may be there beside twice as many as the table has rows."""


class Growing:
    """The texts of a column's codes, of all files that were packed by it."""

    def __init__(self) -> None:
        self.dictionary = Dictionary(pl.Series([], dtype=pl.String))
        self.left = False
        """Whether there is another now."""

    def codes(self, keys: pl.Series) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The codes of some texts, all different."""
        values = self.dictionary.values
        new = keys.filter(~keys.is_in(values.implode())) if len(values) else keys
        if len(new):
            values = pl.concat([values, new.alias("")])
            self.dictionary = Dictionary(values)
        places = pl.DataFrame({"v": values, "p": np.arange(len(values))})
        found = keys.alias("v").to_frame().join(places, on="v", how="left", maintain_order="left")["p"]
        return found.to_numpy()


class Dictionaries:
    """The dictionary by which each column of texts is packed now; its caller has one thread at a time ask."""

    def __init__(self) -> None:
        self._known: WeakValueDictionary[tuple[int, int], Growing] = WeakValueDictionary()

    def leave(self, table: int) -> None:
        """Leaves those of a table."""
        for key, found in list(self._known.items()):
            if key[0] == table:
                found.left = True
                del self._known[key]

    def of(self, table: Table, column: Column) -> tuple[Growing, Growing | None]:
        """A column's, and the one that it is instead of, where that has become too large."""
        key = table.oid, column.field_id
        found = self._known.get(key)
        if found is not None and len(found.dictionary.values) <= 2 * table.rows + FEW:
            return found, None
        if found is not None:
            found.left = True
        made = self._known[key] = Growing()
        return made, found
