"""Takes the guide's pictures of the page, into docs/assets: `python -m tests.console.pictures`."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from PIL import Image

from tests.console.test_page import BROWSER, PASSWORD, load_rides
from tests.console.tools import ROOT, find_node
from tests.support.server_program import Program

ASSETS = ROOT / "docs" / "assets"
DASHBOARD = ROOT / "gpudb" / "demo" / "taxi_dashboard.json"
MOST_BYTES = 150_000
RIDES = 1_000_000


def main() -> None:
    """Serves a million rides, lets a browser look at them, and writes the pictures as WebP."""
    node = find_node()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with Program(folder / "data", "--engine", "cpu", "--http-port", "0") as server:
            load_rides(server.dsn, RIDES)
            arguments = [server.http, "gpudb", PASSWORD, str(folder), str(DASHBOARD)]
            subprocess.run([node, str(BROWSER / "pictures.mjs"), *arguments], check=True)
        for picture in folder.glob("*.png"):
            target = ASSETS / f"{picture.stem}.webp"
            Image.open(picture).save(target, quality=86, method=6)
            assert target.stat().st_size < MOST_BYTES, f"{target} is too large"


if __name__ == "__main__":
    main()
