"""The image: what its recipe copies and runs, its list of packages; with `make test-image` it is built and started.

No registry of images is needed: the base is made of Debian's packages.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import psycopg
import pytest

from gpudb.config.program import Settings
from gpudb.distribution import __version__
from tests.support.deploy.images import Builder
from tests.support.deploy.ports import find_port
from tests.support.deploy.tools import ROOT
from tests.support.sessions import wait_until

RECIPE = ROOT / "deploy" / "Containerfile"
ACCELERATORS = ("cpu", "cu12", "cu13")


def list_instructions() -> list[tuple[str, str]]:
    """The recipe's instructions and their arguments; lines that go on are joined."""
    text = re.sub(r"\\\n\s*", " ", RECIPE.read_text(encoding="utf-8"))
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in lines]


def test_it_copies_what_exists_and_the_context_has() -> None:
    copied = [
        name
        for instruction, arguments in list_instructions()
        if instruction == "COPY" and not arguments.startswith("--from")
        for name in arguments.split()[:-1]
    ]
    assert {"gpudb", "kernels", "requirements.lock", "pyproject.toml", "LICENSE"} <= set(copied)
    allowed = [line[1:] for line in (ROOT / ".containerignore").read_text().splitlines() if line.startswith("!")]
    for name in copied:
        assert (ROOT / name).exists(), name
        assert any(Path(name).match(pattern) for pattern in allowed), f"the build's context lacks {name}"
    readme = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["readme"]
    assert readme in copied


def test_it_runs_the_program_as_a_user_without_rights() -> None:
    found = dict(list_instructions()[-10:])
    assert found["USER"] == "10001:10001"
    assert json.loads(found["ENTRYPOINT"]) == ["gpudb"]
    assert json.loads(found["CMD"]) == ["serve"]
    assert found["STOPSIGNAL"] == "SIGTERM"
    variables = dict(re.findall(r"(\w+)=(\S+)", dict(list_instructions())["ENV"]))
    named = {name.removeprefix("GPUDB_").lower() for name in variables if name.startswith("GPUDB_")}
    # The kernel cache is not a setting; the two of HTTP come with the server's health page.
    assert named - {"kernel_cache", "http_port"} <= set(Settings.model_fields)


def test_every_accelerator_has_a_lock() -> None:
    script = (ROOT / "deploy" / "install_packages.sh").read_text(encoding="utf-8")
    for accelerator in ACCELERATORS:
        assert re.search(rf"^{accelerator}\)", script, re.MULTILINE), accelerator
    for lock, suffix in (("requirements-gpu.lock", "cu13"), ("requirements-cu12.lock", "cu12")):
        text = (ROOT / lock).read_text(encoding="utf-8")
        assert re.search(rf"^cudf-{suffix}==", text, re.MULTILINE)
        assert lock in script
    ours = dict(re.findall(r"^([a-z0-9-]+)==(\S+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE))
    cu12 = dict(re.findall(r"^([a-z0-9-]+)==(\S+)", (ROOT / "requirements-cu12.lock").read_text(), re.MULTILINE))
    differing = {name: (ours[name], cu12[name]) for name in ours.keys() & cu12.keys() if ours[name] != cu12[name]}
    assert not differing, "make lock"
    done = subprocess.run(["sh", ROOT / "deploy" / "install_packages.sh", "rocm", "/nowhere"], capture_output=True)
    assert done.returncode == 2
    assert b'ACCELERATOR is cpu, cu12 or cu13, not "rocm"' in done.stderr


def test_the_list_of_packages_and_licences(tmp_path: Path) -> None:
    script = ROOT / "deploy" / "list_packages.py"
    done = subprocess.run([sys.executable, script, tmp_path], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    document = json.loads((tmp_path / "sbom.cdx.json").read_text(encoding="utf-8"))
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.5")
    found = {each["name"]: each for each in document["components"]}
    assert found["duckdb"]["version"] == version("duckdb")
    assert found["pyarrow"]["purl"] == f"pkg:pypi/pyarrow@{version('pyarrow')}"
    licences = dict(line.split("\t")[::2] for line in (tmp_path / "licences.tsv").read_text().splitlines())
    assert "Apache" in licences["pyarrow"]
    assert licences["duckdb"] != "unknown"
    assert list((tmp_path / "licences" / "pyarrow").iterdir())


_READ_ONLY = """
for each in "$WRITABLE/data" "$WRITABLE/spill" "$WRITABLE/tmp"; do mount --bind "$each" "$each" || exit 90; done
mount -o remount,bind,ro / || exit 90
touch /of-the-image 2>/dev/null && exit 91
exec "$@"
"""


@pytest.fixture
def volumes() -> Iterator[Path]:
    """A folder that the image's user may enter."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def _become(user: str) -> list[str]:
    """Returns a command's beginning that gives up all rights; empty where that user may not read the program."""
    uid, _, gid = user.partition(":")
    begin = ["setpriv", f"--reuid={uid}", f"--regid={gid}", "--clear-groups", "--no-new-privs", "--bounding-set=-all"]
    if shutil.which("setpriv") is None:
        return []
    tried = subprocess.run([*begin, sys.executable, "-c", "import gpudb.cli"], capture_output=True, cwd="/")
    return begin if tried.returncode == 0 else []


def test_the_server_runs_on_a_read_only_root_and_the_healthcheck_sees_it(volumes: Path) -> None:
    """The image's command, user, variables and healthcheck as processes, on a root that is mounted read-only."""
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
        pytest.skip("a mount namespace of its own needs root")
    instructions = dict(list_instructions())
    become = _become(instructions["USER"])
    for name in ("data", "spill", "tmp"):
        (volumes / name).mkdir()
        if become:
            os.chown(volumes / name, *map(int, instructions["USER"].split(":")))
    variables = dict(re.findall(r"(GPUDB_\w+)=(\S+)", instructions["ENV"]))
    replaced = {"/var/lib/gpudb": f"{volumes}/data", "/var/spill": f"{volumes}/spill"}
    for name, value in variables.items():
        for old, new in replaced.items():
            value = value.replace(old, new)
        variables[name] = value
    http_port = find_port()
    variables |= {"GPUDB_HOST": "127.0.0.1", "GPUDB_PORT": "0", "GPUDB_HTTP_PORT": str(http_port)}
    environment = {
        **os.environ,
        **variables,
        "TMPDIR": f"{volumes}/tmp",
        "WRITABLE": str(volumes),
        "HOME": "/nowhere",
    }
    probe = json.loads(instructions["HEALTHCHECK"].partition("CMD ")[2])
    probe = [sys.executable, *(each.replace("9187", str(http_port)) for each in probe[1:])]
    command = ["unshare", "-m", "--propagation", "private", "sh", "-c", _READ_ONLY, "sh", *become]
    command += [sys.executable, "-m", "gpudb.cli", *json.loads(instructions["CMD"])]

    def is_healthy() -> bool:
        return subprocess.run(probe, capture_output=True, timeout=60).returncode == 0

    assert not is_healthy()
    with (volumes / "log").open("wb") as log:
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd="/")
    try:
        wait_until(lambda: b"listening on" in (volumes / "log").read_bytes() or server.poll() is not None, "the server")
        text = (volumes / "log").read_text()
        assert server.poll() is None, text
        assert is_healthy()
        port = int(re.findall(r"listening on \S+:(\d+)", text)[0])
        with psycopg.connect(f"host=127.0.0.1 port={port} user=gpudb dbname=gpudb", autocommit=True) as connection:
            connection.execute("CREATE TABLE t AS SELECT i FROM generate_series(1, 1000) AS i")
            assert connection.execute("SELECT sum(i) FROM t").fetchall() == [(500500,)]
    finally:
        server.terminate()
        status = server.wait(60)
    assert status == 0
    assert (volumes / "data" / "data" / "catalog.db").exists()
    assert not is_healthy()


@pytest.fixture(scope="module")
def builder() -> Iterator[Builder]:
    if "GPUDB_TEST_IMAGE" not in os.environ:
        pytest.skip("make test-image runs it")
    for program in ("buildah", "mmdebstrap"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    # Gigabytes: not in the memory where other tests have their files.
    with tempfile.TemporaryDirectory(dir="/var/tmp", ignore_cleanup_errors=True) as folder:
        made = Builder(Path(folder))
        try:
            yield made
        finally:
            made.close()


@pytest.mark.timeout(2400)
def test_the_image_is_built_and_serves(builder: Builder, tmp_path: Path) -> None:
    builder.build(RECIPE, "cpu")
    assert builder.run("id", "-u").stdout == "10001\n"
    assert builder.run("gpudb", "--version").stdout == f"gpudb {__version__}\n"
    assert builder.run("dask", "worker", "--help").returncode == 0
    assert builder.run("touch", "/opt/gpudb/file").returncode != 0
    assert json.loads(builder.run("cat", "/usr/share/doc/gpudb/sbom.cdx.json").stdout)["components"]
    (tmp_path / "passwords").mkdir()
    (tmp_path / "passwords" / "gpudb").write_text("secret")
    port = find_port()
    environment = {"GPUDB_HOST": "127.0.0.1", "GPUDB_PORT": str(port), "GPUDB_ROLE_PASSWORDS": "/run/passwords"}
    with builder.serving({"/run/passwords": tmp_path / "passwords"}, environment) as log:
        wait_until(lambda: "listening on" in log.read_text(), "the server")
        target = f"host=127.0.0.1 port={port} user=gpudb dbname=gpudb password=secret sslmode=require"
        with psycopg.connect(target) as connection:
            assert connection.execute("SELECT sum(i) FROM generate_series(1, 10) i").fetchone() == (55,)
