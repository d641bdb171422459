"""Images built by buildah over a base of Debian's packages, and their commands run in a chroot."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.support.deploy.tools import ROOT

BUILD_S = 1800
RUN_S = 120
BASE = "localhost/python-base"
IMAGE = "localhost/gpudb"
_PACKAGES = "python3,python3-venv,python3-pip,ca-certificates"
_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
USER = 10001


class Builder:
    """A store of images in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._container = ""

    def build(self, recipe: Path, accelerator: str) -> None:
        """Makes the base, builds the image, and makes a container of it."""
        self._make_base()
        self._buildah(
            "bud", "--isolation", "chroot", "--network", "host", "--pull-never", "--format", "docker",
            "--ignorefile", ROOT / ".containerignore", "--build-arg", f"BASE={BASE}",
            "--build-arg", f"ACCELERATOR={accelerator}", "--tag", IMAGE, "--file", recipe, ROOT,
        )  # fmt: skip
        self._container = self._buildah("from", "--pull-never", IMAGE).strip()

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Runs a command in the container, as the image's user."""
        line = self._line("run", "--isolation", "chroot", self._container, "--", *command)
        return subprocess.run(line, capture_output=True, text=True, timeout=RUN_S, stdin=subprocess.DEVNULL)

    @contextmanager
    def serving(self, mounts: Mapping[str, Path], environment: Mapping[str, str]) -> Iterator[Path]:
        """Runs the image's command with volumes for its data; yields the file of its output."""
        volumes = {"/var/lib/gpudb": self.folder / "data", "/var/spill": self.folder / "spill"}
        for path in volumes.values():
            path.mkdir()
            os.chown(path, USER, USER)
        options = [part for where, path in volumes.items() for part in ("--volume", f"{path}:{where}:rw")]
        options += [part for where, path in mounts.items() for part in ("--volume", f"{path}:{where}:ro")]
        options += [part for name, value in environment.items() for part in ("--env", f"{name}={value}")]
        command = (
            "run",
            "--isolation",
            "chroot",
            "--network",
            "host",
            *options,
            self._container,
            "--",
            "gpudb",
            "serve",
        )
        log = self.folder / "serve.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                self._line(*command), stdout=output, stderr=output, stdin=subprocess.DEVNULL, start_new_session=True
            )
        try:
            yield log
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(30)

    def close(self) -> None:
        """Removes containers and images."""
        self._buildah("rm", "--all")
        self._buildah("rmi", "--all", "--force")

    def _make_base(self) -> None:
        archive = self.folder / "base.tar"
        command = ["mmdebstrap", "--mode=root", "--variant=minbase", f"--include={_PACKAGES}", "bookworm", archive]
        subprocess.run(command, check=True, timeout=BUILD_S)
        container = self._buildah("from", "scratch").strip()
        root = self._buildah("mount", container).strip()
        subprocess.run(["tar", "-C", root, "-xf", archive], check=True, timeout=BUILD_S)
        # The authorities of this machine, for registries that it reaches through others.
        shutil.copy(_CERTIFICATES.resolve(), Path(root) / _CERTIFICATES.relative_to("/"))
        names = ("SSL_CERT_FILE", "PIP_CERT")
        settings = [part for name in names for part in ("--env", f"{name}={_CERTIFICATES}")]
        self._buildah("config", *settings, container)
        self._buildah("commit", "--rm", container, BASE)
        archive.unlink()

    def _buildah(self, *arguments: str | Path) -> str:
        done = subprocess.run(
            self._line(*arguments), stdout=subprocess.PIPE, text=True, timeout=BUILD_S, stdin=subprocess.DEVNULL
        )
        assert done.returncode == 0, f"buildah {arguments[0]} failed"
        return done.stdout

    def _line(self, *arguments: str | Path) -> list[str]:
        roots = ["--root", str(self.folder / "store"), "--runroot", str(self.folder / "run")]
        return ["buildah", "--storage-driver", "vfs", *roots, *map(str, arguments)]
