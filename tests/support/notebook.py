"""A notebook's kernel: cells run in a process of their own, as Jupyter runs them."""

from __future__ import annotations

import asyncio
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from tests.support.sessions import wait_until

LIMIT_S = 120
COMPUTES_S = 0.6


@dataclass(frozen=True, slots=True)
class Cell:
    """The outputs of a cell that ran."""

    outputs: Sequence[Any]

    @property
    def printed(self) -> str:
        """What it wrote to stdout and stderr."""
        return "".join(each["text"] for each in self.outputs if each["output_type"] == "stream")

    def data(self, kind: str) -> str:
        """Its last result or display in one form: `text/html`, `text/plain`, …; KeyError without one."""
        shown = [each for each in self.outputs if each["output_type"] in {"execute_result", "display_data"}]
        if not shown:
            raise KeyError(f"no result; the outputs are {self.outputs}")
        found: str = shown[-1]["data"][kind]
        return found

    @property
    def error(self) -> Any:
        """Its error: `ename`, `evalue`, and `traceback`, a list of lines; AssertionError if it succeeded."""
        errors = [each for each in self.outputs if each["output_type"] == "error"]
        assert errors, self.outputs
        return errors[0]


class Kernel:
    """A running kernel."""

    def __init__(self, client: NotebookClient) -> None:
        self._client = client

    def run(self, source: str, *, fails: bool = False) -> Cell:
        """Runs a cell; AssertionError if it fails and may not."""
        cell = nbformat.v4.new_code_cell(source)
        self._client.nb.cells.append(cell)
        try:
            self._client.execute_cell(cell, len(self._client.nb.cells) - 1)
        except CellExecutionError:
            assert fails, cell.outputs
        else:
            assert not fails, cell.outputs
        return Cell(cell.outputs)

    @contextmanager
    def watching_displays(self) -> Iterator[list[str]]:
        """Yields the list of the HTML of all displays and of their updates meanwhile."""
        seen: list[str] = []
        process = self._client.process_message

        def watch(message: Any, cell: Any, index: int) -> Any:
            if message["msg_type"] in {"display_data", "update_display_data"}:
                seen.append(message["content"]["data"]["text/html"])
            return process(message, cell, index)

        self._client.process_message = watch
        try:
            yield seen
        finally:
            del self._client.process_message

    def interrupt(self, source: str, when: Callable[[], object] | None = None) -> Cell:
        """Runs a cell and interrupts it, once `when()` holds or it has computed for a moment; returns the cell."""
        with tempfile.TemporaryDirectory() as folder:
            begun = Path(folder) / "begun"

            def send() -> None:
                wait_until(begun.exists, "the cell runs")
                if when is None:
                    time.sleep(COMPUTES_S)  # else the interrupt could come before the statement
                else:
                    wait_until(when, "the cell is where it is interrupted")
                asyncio.run(_as_coroutine(self._client.km.interrupt_kernel()))

            thread = threading.Thread(target=send)
            thread.start()
            try:
                return self.run(f"open({str(begun)!r}, 'w').close()\n{source}", fails=True)
            finally:
                thread.join(LIMIT_S)


async def _as_coroutine(value: Any) -> None:
    if value is not None:
        await value


@contextmanager
def running_kernel() -> Iterator[Kernel]:
    """Runs a kernel of the tests' own Python, and stops it."""
    client = NotebookClient(nbformat.v4.new_notebook(), timeout=LIMIT_S, kernel_name="python3")
    with client.setup_kernel():
        yield Kernel(client)
