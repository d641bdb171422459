"""The repository's notebooks need the package alone: they run in any folder."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.support.notebook import LIMIT_S

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_cell_names_the_repository(path: Path) -> None:
    code = "\n".join(cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == "code")
    assert not re.findall(r"sys\.path|\.\./|\bbenchmarks\.|\btests\.", code)


def test_the_star_schema_runs_in_an_empty_folder(tmp_path: Path) -> None:
    notebook = nbformat.read(next(path for path in NOTEBOOKS if path.stem == "star_schema"), 4)
    client = NotebookClient(
        notebook, timeout=LIMIT_S, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    assert not list(tmp_path.iterdir())
