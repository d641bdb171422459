"""A call on a thread of its own, which its caller may leave to its own end: libraries that cannot be interrupted."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class LeftCall(Generic[Value]):
    """A running call. `ended` is set when it has ended; others may set it too, so that a waiter looks up."""

    def __init__(self, call: Callable[[], Value], name: str) -> None:
        self.ended = threading.Event()
        self._call = call
        self._values: list[Value] = []
        self._errors: list[BaseException] = []
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def _run(self) -> None:
        try:
            self._values.append(self._call())
        except BaseException as error:
            self._errors.append(error)
        finally:
            self.ended.set()

    @property
    def has_ended(self) -> bool:
        """Whether it has a value or an error."""
        return bool(self._values or self._errors)

    def get(self) -> Value:
        """Returns its value, or raises its error; called once it has one of them."""
        if self._errors:
            raise self._errors[0]
        return self._values[0]
