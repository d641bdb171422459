"""Hook of mkdocs: files of the repository outside docs/ become pages of the site.

Each file of PAGES becomes a page, and links to it from any page lead there; links to other files of the repository
become their paths.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]

PAGES = {
    "gpudb/functions/README.md": "reference/functions.md",
    "gpudb/functions/WORKERS.md": "reference/functions-on-workers.md",
    "gpudb/plan/NOT_ON_WORKERS.md": "reference/not-on-workers.md",
    "kernels/README.md": "reference/kernels.md",
    "benchmarks/README.md": "reference/benchmark-programs.md",
    "benchmarks/results/README.md": "reference/results.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "developers/contributing.md",
}
"""Files of the repository that are pages of the site."""

_CODE_IN_TABLE = re.compile(r"^\|.*$", re.MULTILINE)
_LINK = re.compile(r"(?P<mark>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages of PAGES and the plots of the results."""
    for source, page in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    for plot in sorted((ROOT / "benchmarks/results").glob("*.svg")):
        files.append(File.generated(config, f"reference/{plot.name}", abs_src_path=str(plot)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Leads links that leave docs/ to the site's pages."""
    return _CODE_IN_TABLE.sub(_plain_pipes, relink(markdown, page.file.src_uri))


def _plain_pipes(row: re.Match[str]) -> str:
    """A table's row without escapes of pipes in code: Markdown in Python shows them."""
    return re.sub(r"`[^`]*`", lambda code: code[0].replace("\\|", "|"), row[0])


def relink(markdown: str, uri: str) -> str:
    """A page's text with links to the repository's files turned into links of the site, or into paths."""
    source = next((path for path, page in PAGES.items() if page == uri), f"docs/{uri}")

    def link(found: re.Match[str]) -> str:
        target, _, anchor = found["target"].partition("#")
        if not target or "://" in target or target.startswith("mailto:"):
            return found[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        if found["mark"]:
            if not path.startswith("benchmarks/results/"):
                return found[0]
            page = f"reference/{posixpath.basename(path)}"
        elif path.startswith("docs/"):
            page = path.removeprefix("docs/")
        elif path == "README.md":
            page = "index.md"
        elif path in PAGES:
            page = PAGES[path]
        else:
            return f"{found['text']} (`{path}`)"
        relative = posixpath.relpath(page, posixpath.dirname(uri) or ".")
        return f"{found['mark']}[{found['text']}]({relative}{'#' + anchor if anchor else ''})"

    return _LINK.sub(link, markdown)
