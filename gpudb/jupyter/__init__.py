"""Notebooks: the magics %gpudb, %sql and %explain of IPython. Imports the Python API; IPython only where it is used.

`%load_ext gpudb` loads them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Registers the magics; IPython calls it for `%load_ext gpudb`."""
    from gpudb.api.chart_pictures import register_charts
    from gpudb.jupyter.magics import SqlMagics
    from gpudb.jupyter.tables import register_formatter

    register_formatter(shell)
    register_charts(shell)
    shell.register_magics(SqlMagics(shell))
