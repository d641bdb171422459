"""The rule for commit messages: the hook takes what CONTRIBUTING.md shows, and refuses what breaks the rule."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.support.guide_blocks import ROOT

CONFIG = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
(HOOK,) = (hook for repo in CONFIG["repos"] for hook in repo["hooks"] if hook["id"] == "commit-message")
LONGEST = "é" * 72


def accepts(message: str, folder: Path) -> bool:
    """Runs the hook on a message as pre-commit does."""
    file = folder / "COMMIT_EDITMSG"
    file.write_text(message, encoding="utf-8")
    command = [sys.executable, "-m", "pre_commit.languages.pygrep", *HOOK["args"], HOOK["entry"], str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode in {0, 1}, done.stderr
    return done.returncode == 0


@pytest.mark.parametrize(
    "message",
    [
        f"{LONGEST}\n\nWhy.\n",
        "Subject\n\nWhy, and\nwhy.\n\n# a comment of git's that is longer than the lines of a message may be, much longer\n",
        "Merge branch guide\n",
        "fixup! Subject\n",
    ],
)
def test_good_messages(message: str, tmp_path: Path) -> None:
    assert accepts(message, tmp_path)


@pytest.mark.parametrize(
    "message",
    ["", "Subject\n", f"{LONGEST}é\n\nWhy.\n", "Subject\nWhy.\n", "Subject\n\n# Please enter the commit message.\n"],
)
def test_bad_messages(message: str, tmp_path: Path) -> None:
    assert not accepts(message, tmp_path)


def test_the_example_is_one(tmp_path: Path) -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"## Commits\n.*?```text\n(.*?)```", text, re.DOTALL)
    assert accepts(example, tmp_path)
    assert max(map(len, example.splitlines())) <= 72


def test_pre_commit_installs_it() -> None:
    assert HOOK["stages"] == ["commit-msg"]
    assert "commit-msg" in CONFIG["default_install_hook_types"]
