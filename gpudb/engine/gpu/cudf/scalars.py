"""Scalars of cudf-polars: what they wait for on the GPU is waited for without the interpreter's lock.

pylibcudf keeps the lock while it makes a scalar of a Python value and while it reads one, and both take until the GPU
has computed all that was begun before: meanwhile no thread would run, in whatever lane. So it is asked for neither
before the stream is through.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import pylibcudf as plc

from gpudb.engine.gpu.cudf.streams import complete

_libcudf = plc.Scalar


class _Kind(type):
    """Whatever is a scalar of libcudf's is one of these."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _libcudf)


class _Scalar(_libcudf, metaclass=_Kind):  # type: ignore[misc,valid-type]
    """Makes libcudf's."""

    @classmethod
    def from_py(cls, *given: Any, **options: Any) -> Any:
        """See `pylibcudf.Scalar`."""
        complete()
        return _libcudf.from_py(*given, **options)

    @classmethod
    def from_arrow(cls, *given: Any, **options: Any) -> Any:
        """See `pylibcudf.Scalar`."""
        complete()
        return _libcudf.from_arrow(*given, **options)


def install() -> None:
    """Has those wait that make scalars."""
    plc.Scalar = plc.scalar.Scalar = _Scalar
    for module, name in ((plc.reduce, "reduce"), (plc.reduce, "minmax"), (plc.copying, "get_element")):
        setattr(module, name, _complete(getattr(module, name)))


def _complete(make: Callable[..., Any]) -> Callable[..., Any]:
    """What gives scalars that are read next."""

    @wraps(make)
    def made(*given: Any, **options: Any) -> Any:
        scalar = make(*given, **options)
        complete()
        return scalar

    return made
