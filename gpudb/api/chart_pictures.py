"""Altair's charts in notebooks carry a picture too, for places that do not draw Vega-Lite, such as GitHub."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

_CHART_MODULES = ("altair.vegalite.v5.api", "altair.vegalite.v6.api")
_BASE = "TopLevelMixin"
"""The base of charts, of charts side by side, in layers, and so on."""


def register_charts(shell: InteractiveShell) -> None:
    """Registers the charts' formatter, without an import of Altair."""
    assert shell.display_formatter is not None
    bundles = shell.display_formatter.mimebundle_formatter
    for module in _CHART_MODULES:
        bundles.for_type_by_name(module, _BASE, format_chart)


def format_chart(chart: Any) -> Any:
    """Returns what Altair's renderer returns, with an SVG beside it if vl-convert-python is installed.

    Renderers that make a picture themselves, or draw without a bundle, stay as they are.
    """
    rendered = chart._repr_mimebundle_(None, None)
    data, metadata = rendered if isinstance(rendered, tuple) else (rendered or {}, {})
    if not data or any(kind.startswith("image/") for kind in data):
        return rendered
    try:
        import vl_convert
    except ImportError:
        return rendered
    return {**data, "image/svg+xml": vl_convert.vegalite_to_svg(chart.to_dict())}, metadata
