"""Makes cudf-polars wait for scalars without holding the interpreter's lock.

pylibcudf holds the lock while it creates a scalar from a Python value and while it reads one, and both block until the
GPU has completed all queued work: meanwhile no thread would run, whatever its priority. So both are called only after
the stream is complete.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import pylibcudf as plc

from gpudb.engine.gpu.cudf.memory.streams import synchronize

_libcudf = plc.Scalar


class _ScalarMeta(type):
    """Treats every libcudf scalar as an instance."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _libcudf)


class _Scalar(_libcudf, metaclass=_ScalarMeta):  # type: ignore[misc,valid-type]
    """Creates libcudf scalars."""

    @classmethod
    def from_py(cls, *args: Any, **options: Any) -> Any:
        """See `pylibcudf.Scalar`."""
        synchronize()
        return _libcudf.from_py(*args, **options)

    @classmethod
    def from_arrow(cls, *args: Any, **options: Any) -> Any:
        """See `pylibcudf.Scalar`."""
        synchronize()
        return _libcudf.from_arrow(*args, **options)


def install() -> None:
    """Patches pylibcudf's constructors of scalars."""
    plc.Scalar = plc.scalar.Scalar = _Scalar
    for module, name in ((plc.reduce, "reduce"), (plc.reduce, "minmax"), (plc.copying, "get_element")):
        setattr(module, name, _completing(getattr(module, name)))


def _completing(make: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps a function whose scalar is read next."""

    @wraps(make)
    def wrapped(*args: Any, **options: Any) -> Any:
        scalar = make(*args, **options)
        synchronize()
        return scalar

    return wrapped
