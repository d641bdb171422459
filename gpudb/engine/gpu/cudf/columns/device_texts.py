"""The texts of dictionaries in GPU memory, and the decoding of codes there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
import pylibcudf as plc

from gpudb.engine.gpu.backend.dictionary import Dictionary
from gpudb.engine.gpu.cudf.columns.convert import build_frame, data_type, to_device
from gpudb.engine.gpu.cudf.memory.streams import current_stream, synchronize
from gpudb.lru import IdentityKey, LruCache

_MAX_DICTIONARIES = 16
"""Maximum dictionaries whose texts are cached on the GPU."""


class DeviceTexts:
    """Texts of dictionaries that have been used lately."""

    def __init__(self) -> None:
        self._texts: LruCache[IdentityKey[Dictionary], Any] = LruCache(_MAX_DICTIONARIES)

    def decode(self, table: Any, texts: Mapping[str, Dictionary]) -> Any:
        """Returns a table with texts in place of the int32 codes in some columns."""
        names = table.column_names
        columns = [
            self._gather(each.obj, texts[each.name]) if each.name in texts else each.obj for each in table.columns
        ]
        kinds = [data_type(pl.String()) if each.name in texts else each.dtype for each in table.columns]
        return build_frame(columns, names, kinds, table.num_rows)

    def _gather(self, codes: Any, dictionary: Dictionary) -> Any:
        key = IdentityKey(dictionary)
        held = self._texts.get(key)
        if held is None:
            held = to_device(pl.DataFrame({"v": dictionary.padded})).table
            self._texts.put(key, held)
        if codes.null_count():
            last = plc.Scalar.from_py(len(dictionary.values), codes.type(), stream=current_stream())
            codes = plc.replace.replace_nulls(codes, last, stream=current_stream())
        policy = plc.copying.OutOfBoundsPolicy.DONT_CHECK
        made = plc.copying.gather(held, codes, policy, stream=current_stream()).columns()[0]
        synchronize()  # another thread may evict the texts
        return made
