"""Lists the installed packages as a bill of materials (CycloneDX) and gathers their licences.

    python deploy/list_packages.py DIR

writes DIR/sbom.cdx.json, DIR/licences.tsv and DIR/licences/PACKAGE/….
"""

from __future__ import annotations

import json
import re
import sys
from importlib.metadata import Distribution, distributions
from pathlib import Path

_LICENCE_FILE = re.compile(r"^(licen[cs]e|copying|notice|copyright)", re.IGNORECASE)
_PREFIX = "License :: "


def write_lists(folder: Path) -> int:
    """Writes the lists of this environment's packages; returns the number of packages."""
    found = {_normalize(each.metadata["Name"]): each for each in distributions()}
    components, lines = [], []
    for name, package in sorted(found.items()):
        licence = _read_licence(package)
        component = {"type": "library", "name": name, "version": package.version}
        component["bom-ref"] = component["purl"] = f"pkg:pypi/{name}@{package.version}"
        components.append({**component, "licenses": [{"license": {"name": licence}}]})
        lines.append(f"{name}\t{package.version}\t{licence}\n")
        _copy_licences(package, folder / "licences" / name)
    folder.mkdir(parents=True, exist_ok=True)
    document = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "components": components}
    (folder / "sbom.cdx.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    (folder / "licences.tsv").write_text("".join(lines), encoding="utf-8")
    return len(found)


def _normalize(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _read_licence(package: Distribution) -> str:
    """Returns what a package declares: its expression, its classifiers, or a short text; else `unknown`."""
    metadata = package.metadata
    if expression := metadata.get("License-Expression"):
        return str(expression)
    classifiers = [each for each in metadata.get_all("Classifier") or [] if each.startswith(_PREFIX)]
    if classifiers:
        return " AND ".join(each.rpartition(" :: ")[2] for each in classifiers)
    return (metadata.get("License") or "unknown").strip().splitlines()[0][:100]


def _copy_licences(package: Distribution, folder: Path) -> None:
    for file in package.files or []:
        if _LICENCE_FILE.match(file.name) and (path := Path(str(file.locate()))).is_file():
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "__".join(file.parts[1:])).write_bytes(path.read_bytes())


if __name__ == "__main__":
    print(f"{write_lists(Path(sys.argv[1]))} packages")
