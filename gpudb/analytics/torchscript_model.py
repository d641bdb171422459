"""Models in TorchScript, which PyTorch computes on the GPU where there is one: rows of features in, one tensor out.

A file is a program of tensor operations, which may also read files: so only children load it, and only those may bring
one who may read the server's files.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import numpy.typing as npt

from gpudb.analytics.devices import GPU
from gpudb.analytics.encoding import Matrix
from gpudb.analytics.libraries import load_library, make_refusal
from gpudb.errors import FeatureNotSupported, SqlError

_ROWS = 1 << 16
"""Rows that are on the device at once."""


class TorchScriptModel:
    """A module that takes a tensor of float32, rows by features, and returns a value or several for each row."""

    def __init__(self, content: bytes) -> None:
        torch = load_library("torch")
        self._torch = torch
        self._device = "cuda" if GPU.exists() and torch.cuda.is_available() else "cpu"
        self._module = torch.jit.load(io.BytesIO(content), map_location=self._device).eval()

    def score(self, matrix: Matrix) -> npt.NDArray[Any]:
        """Returns what the module gives; 22023 for rows that it refuses, 0A000 for a result that is no tensor of rows.

        53200 if the GPU has too little memory.
        """
        rows = matrix.astype(np.float32)
        parts = [self._score(rows[start : start + _ROWS]) for start in range(0, max(len(rows), 1), _ROWS)]
        return np.concatenate(parts)

    def _score(self, rows: Matrix) -> npt.NDArray[Any]:
        try:
            with self._torch.inference_mode():
                found = self._module(self._torch.from_numpy(rows).to(self._device))
        except self._torch.cuda.OutOfMemoryError as error:
            hint = "A lower gpu_memory_limit leaves models more of the GPU's memory."
            raise SqlError.of("out_of_memory", "out of memory on the GPU", detail=str(error), hint=hint) from None
        except (RuntimeError, self._torch.jit.Error) as error:
            raise make_refusal("score these rows", error) from None
        if not isinstance(found, self._torch.Tensor) or found.ndim not in (1, 2) or len(found) != len(rows):
            raise FeatureNotSupported("modules that do not return a tensor with a row for each row are not supported")
        numbers: npt.NDArray[Any] = (found.float() if found.is_floating_point() else found).cpu().numpy()
        return numbers
