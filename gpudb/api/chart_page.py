"""A chart as HTML without a network: its picture, and a script that draws it live with the library of the page.

One chart of a page carries the library: Vega, Vega-Lite and Vega-Embed, packed. Charts before and after it wait for it;
where scripts do not run, or no chart of the page carries it, the picture stays.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from html import escape

_ACTIONS = {"export": True, "source": False, "compiled": False, "editor": False}
"""The entries of a chart's menu; Vega's editor would be a page of another host."""

_DRAW = """\
<div class="gpudb-chart">%(picture)s</div>
<script type="text/javascript">
(function (spec, options, shown) {
  const charts = (window.gpudbCharts ??= {waiting: []});
  const draw = function (embed) {
    const place = document.createElement("div");
    shown.append(place);
    embed(place, spec, options).then(() => shown.querySelector("img").remove(), () => place.remove());
  };
  charts.embed ? draw(charts.embed) : charts.waiting.push(draw);
})(%(spec)s, %(options)s, document.currentScript.previousElementSibling);
</script>"""

_LOAD = """
<script type="text/javascript">
(function (packed) {
  const charts = (window.gpudbCharts ??= {waiting: []});
  if (charts.loading || !window.DecompressionStream) return;
  charts.loading = true;
  const bytes = Uint8Array.from(atob(packed), (each) => each.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  new Response(stream).text().then((source) => {
    new Function(source)();
    for (const draw of charts.waiting.splice(0)) draw(charts.embed);
  });
})("%(packed)s");
</script>"""


@dataclass(frozen=True, slots=True)
class Picture:
    """A PNG of a chart, and how large it is shown, in pixels."""

    png: bytes
    width: int
    height: int


def format_page(
    spec: Mapping[str, object], picture: Picture, options: Mapping[str, object], library: str | None
) -> str:
    """Returns the HTML of a Vega-Lite chart. `options` are Vega-Embed's; `library` is what `pack_library` returned, for
    the one chart of a page that carries it.
    """
    source = base64.b64encode(picture.png).decode()
    image = (
        f'<img src="data:image/png;base64,{source}" alt="{escape(_describe(spec))}"'
        f' width="{picture.width}" height="{picture.height}">'
    )
    parts = {
        "picture": image,
        "spec": _to_script(spec),
        "options": _to_script({"mode": "vega-lite", "actions": _ACTIONS, **options}),
    }
    return _DRAW % parts + ("" if library is None else _LOAD % {"packed": library})


@cache
def pack_library(version: str) -> str:
    """Returns the library of a version of Vega-Lite (`6.4`), compressed, in base64."""
    import vl_convert

    source = vl_convert.javascript_bundle("window.gpudbCharts.embed = vegaEmbed;", vl_version=version)
    return base64.b64encode(gzip.compress(source.encode(), mtime=0)).decode()


def _describe(spec: Mapping[str, object]) -> str:
    """Returns the words for those who do not see the picture."""
    title = spec.get("title")
    text = spec.get("description") or (title.get("text") if isinstance(title, Mapping) else title)
    return str(text) if text else "chart"


def _to_script(value: object) -> str:
    """Returns JSON that cannot end the script around it."""
    return json.dumps(value).replace("<", "\\u003c")
