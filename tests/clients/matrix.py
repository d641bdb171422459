"""The matrix of clients and features: outcomes of checks, their JSON file, and the table in docs/clients.md."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
MATRIX = Path(__file__).with_name("matrix.json")
PAGE = ROOT / "docs" / "clients.md"

FEATURES = {
    "connect": "log in by SCRAM-SHA-256",
    "tls": "log in over TLS, the server's certificate verified",
    "queries": "queries, parameters, errors with their SQLSTATE",
    "types": "values of many types, there and back",
    "prepared": "prepared statements and binary formats",
    "transactions": "commit, rollback, savepoints",
    "copy": "COPY in and out, or the client's bulk load",
    "metadata": "tables, columns, keys and indexes, as the client reads them",
    "migrations": "the client's own schema changes",
    "cancel": "a statement is cancelled, and the connection lives on",
}
"""The columns of the matrix and what a check of each is about."""

FAMILIES = ("programs", "python", "node", "go", "java", "rust")
_BEGIN, _END = "<!-- matrix: begin, made by make test-clients -->", "<!-- matrix: end -->"
_LONGEST = 240


@dataclass(frozen=True, slots=True)
class Check:
    """One check of a feature; `error` is None where it passed."""

    feature: str
    name: str
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """What one client's scenario found. `skipped` is the reason why it did not run, `notes` what else it says."""

    client: str
    family: str
    version: str = ""
    skipped: str | None = None
    checks: list[Check] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def of(self, feature: str) -> list[Check]:
        """The checks of a feature."""
        return [check for check in self.checks if check.feature == feature]

    @property
    def failed(self) -> list[Check]:
        """The checks that failed."""
        return [check for check in self.checks if check.error is not None]


@dataclass(frozen=True, slots=True)
class Matrix:
    """The results of all clients, of the runs until `date` (ISO), against gpudb `version`."""

    version: str
    date: str
    results: list[Result]

    def merge(self, later: Matrix) -> Matrix:
        """The results with those of a later run in their place; a skipped client keeps what an earlier run found."""
        found = {result.client: result for result in self.results}
        for result in later.results:
            if result.skipped is None or not found.get(result.client, result).checks:
                found[result.client] = result
        ordered = sorted(found.values(), key=lambda each: (FAMILIES.index(each.family), each.client.lower()))
        return Matrix(later.version, later.date, ordered)


def shorten(error: str) -> str:
    """The first line of an error, without paths and addresses of the run."""
    line = next((line.strip() for line in error.splitlines() if line.strip()), "failed")
    line = re.sub(r"(?<![\w.])/(?:[\w.@+-]+/)+[\w.@+-]*", "…", line)
    line = re.sub(r"127\.0\.0\.1[:,]? ?(?:port )?\d*", "the server", line)
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def load(path: Path = MATRIX) -> Matrix:
    """Reads a matrix; raises ValueError, KeyError or TypeError if its shape is another."""
    read = json.loads(path.read_text(encoding="utf-8"))
    results = [
        Result(**{**each, "checks": [Check(**check) for check in each["checks"]]})  # type: ignore[arg-type]
        for each in read["results"]
    ]
    for result in results:
        if result.family not in FAMILIES:
            raise ValueError(f"{result.client}: no family {result.family}")
        if unknown := {check.feature for check in result.checks} - set(FEATURES):
            raise ValueError(f"{result.client}: no features {unknown}")
    return Matrix(read["version"], read["date"], results)


def save(matrix: Matrix, path: Path = MATRIX) -> None:
    """Writes a matrix."""
    path.write_text(json.dumps(asdict(matrix), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def render(matrix: Matrix) -> str:
    """The matrix as Markdown: a line a client, then what failed and why, then what was skipped."""
    ran = [result for result in matrix.results if result.skipped is None]
    lines = [
        f"From the run of {matrix.date} against gpudb {matrix.version}: ✓ all checks passed, ✗ with the number of checks"
        " that passed of all; empty where the client has no such feature or none is checked.",
        "",
        "| client | version | " + " | ".join(FEATURES) + " |",
        "|---|---|" + "---|" * len(FEATURES),
    ]
    for result in ran:
        cells = [_cell(result.of(feature)) for feature in FEATURES]
        lines.append(f"| {result.client} | {result.version} | " + " | ".join(cells) + " |")
    lines += ["", "| column | checked |", "|---|---|"]
    lines += [f"| {feature} | {meaning} |" for feature, meaning in FEATURES.items()]
    if any(result.failed for result in ran):
        lines += ["", "What fails:", "", "| client | feature | check | reason |", "|---|---|---|---|"]
        for result in ran:
            for check in result.failed:
                lines.append(
                    f"| {result.client} | {check.feature} | {_text(check.name)} | {_text(check.error or '')} |"
                )
    if any(result.notes for result in ran):
        lines += ["", "Notes:", "", "| client | note |", "|---|---|"]
        lines += [f"| {result.client} | {_text(note)} |" for result in ran for note in result.notes]
    if skipped := [result for result in matrix.results if result.skipped is not None]:
        lines += ["", "Not run:", "", "| client | reason |", "|---|---|"]
        lines += [f"| {result.client} | {_text(result.skipped or '')} |" for result in skipped]
    return "\n".join(lines) + "\n"


def _cell(checks: Sequence[Check]) -> str:
    if not checks:
        return ""
    passed = sum(check.error is None for check in checks)
    return "✓" if passed == len(checks) else f"✗ {passed}/{len(checks)}"


def _text(text: str) -> str:
    for mark in "\\|*_<`[":
        text = text.replace(mark, "\\" + mark)
    return text


def table_in(page: str) -> str:
    """The table between the marks of a page. Raises ValueError without them."""
    return page[page.index(_BEGIN) + len(_BEGIN) : page.index(_END)].strip() + "\n"


def write_page(matrix: Matrix, page: Path = PAGE) -> None:
    """Puts the table into the page."""
    text = page.read_text(encoding="utf-8")
    before, after = text[: text.index(_BEGIN) + len(_BEGIN)], text[text.index(_END) :]
    page.write_text(f"{before}\n\n{render(matrix)}\n{after}", encoding="utf-8")
