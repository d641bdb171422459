"""Altair's charts in notebooks need no network: the library travels with the first one, and each carries pictures for
places that do not draw Vega-Lite, such as GitHub.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from gpudb.api.chart_page import Picture, format_page, pack_library
from gpudb.api.png import compress_png, read_size

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

_CHART_MODULES = ("altair.vegalite.v5.api", "altair.vegalite.v6.api")
_BASE = "TopLevelMixin"
"""The base of charts, of charts side by side, in layers, and so on."""
_PAGES = frozenset({"default", "html"})
"""Altair's renderers whose HTML loads the library from a network."""
_SCALES = (2, 1)
"""The PNG's pixels for one of the page: fewer where the picture would be larger than `_MAX_BYTES`."""
_MAX_BYTES = 100_000
"""Larger pictures in SVG, of thousands of points, are left out."""


class _Carrier:
    """The cell whose chart carries the library: the notebook's first with a chart, each time that it runs."""

    def __init__(self) -> None:
        self._cell: object = None
        self._run: object = None

    def is_next(self, shell: Any) -> bool:
        """Whether the chart that is shown now carries it."""
        parent = getattr(shell, "parent_header", None) or {}
        sources = shell.user_ns.get("In") or [""]
        cell = (parent.get("metadata") or {}).get("cellId") or sources[-1]
        run = (parent.get("header") or {}).get("msg_id") or shell.execution_count
        if self._cell is not None and (cell != self._cell or run == self._run):
            return False
        self._cell, self._run = cell, run
        return True


_carrier = _Carrier()


def register_charts(shell: InteractiveShell) -> None:
    """Registers the charts' formatter, without an import of Altair."""
    assert shell.display_formatter is not None
    bundles = shell.display_formatter.mimebundle_formatter
    for module in _CHART_MODULES:
        bundles.for_type_by_name(module, _BASE, format_chart)


def format_chart(chart: Any) -> Any:
    """Returns a chart as HTML without a network, as PNG and SVG, if vl-convert-python is installed.

    What another renderer of Altair returns gets the pictures beside it; if it makes a picture itself, or draws without
    a bundle, it stays as it is.
    """
    import altair

    rendered = chart._repr_mimebundle_(None, None)
    data, metadata = rendered if isinstance(rendered, tuple) else (rendered or {}, {})
    if not data or any(kind.startswith("image/") for kind in data) or altair.data_transformers.active == "vegafusion":
        return rendered
    try:
        import vl_convert
    except ImportError:
        return rendered
    spec = chart.to_dict()
    version = ".".join(altair.SCHEMA_VERSION.lstrip("v").split(".")[:2])
    options = altair.renderers.options.get("embed_options") or {}
    theme = options.get("theme")
    picture = _draw(spec, version, theme)
    pictures: dict[str, object] = {"image/png": picture.png}
    svg = vl_convert.vegalite_to_svg(spec, vl_version=version, theme=theme)
    if len(svg) <= _MAX_BYTES:
        pictures["image/svg+xml"] = svg
    if altair.renderers.active in _PAGES:
        shell = sys.modules["IPython"].get_ipython()
        library = pack_library(version) if _carrier.is_next(shell) else None
        data = {**data, "text/html": format_page(spec, picture, options, library)}
    return {**data, **pictures}, {**metadata, "image/png": {"width": picture.width, "height": picture.height}}


def _draw(spec: dict[str, Any], version: str, theme: Any) -> Picture:
    import vl_convert

    for scale in _SCALES:
        png = compress_png(vl_convert.vegalite_to_png(spec, vl_version=version, scale=scale, theme=theme))
        width, height = read_size(png)
        picture = Picture(png, width // scale, height // scale)
        if len(png) <= _MAX_BYTES:
            break
    return picture
