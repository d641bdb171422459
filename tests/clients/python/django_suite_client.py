"""Django's own suite: the part of it that its models' tables allow; a check is an application of its tests."""
# /// script
# requires-python = ">=3.11"
# dependencies = ["django==5.2.9", "psycopg[binary]==3.3.9", "pip==26.0", "setuptools==80.9.0"]
# [tool.uv]
# exclude-newer = "2026-11-25T00:00:00Z"
# ///

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import django
import psycopg
from scenario import check, note, same, skip, version

APPLICATIONS = {
    "basic": "queries",
    "lookup": "queries",
    "ordering": "queries",
    "aggregation": "queries",
    "get_or_create": "transactions",
    "update": "queries",
    "transactions": "transactions",
    "bulk_create": "copy",
}
"""Applications of tests and the features that they are about."""
SECONDS = 840

SETTINGS = """
DATABASES = {
    name: {
        "ENGINE": "django.db.backends.postgresql", "NAME": os.environ["PGDATABASE"], "USER": os.environ["PGUSER"],
        "PASSWORD": os.environ["PGPASSWORD"], "HOST": os.environ["PGHOST"], "PORT": os.environ["PGPORT"],
        "TEST": {"NAME": f"django_suite_{name}"},
    }
    for name in ("default", "other")
}
SECRET_KEY = "only for this scenario"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
USE_TZ = False
"""


def run(application: str, seconds: float) -> tuple[int, int, list[str]]:
    """Runs an application's tests; returns how many ran, how many were skipped, and the names of those that failed."""
    command = [sys.executable, "runtests.py", "--settings=gpudb_settings", "--parallel=1", "--noinput", application]
    done = subprocess.run(command, cwd=tests, capture_output=True, text=True, timeout=max(seconds, 1))
    ran = re.search(r"^Ran (\d+) tests? in", done.stderr, re.MULTILINE)
    if ran is None:
        raise AssertionError((done.stderr or done.stdout).strip().splitlines()[-1])
    skipped = re.search(r"skipped=(\d+)", done.stderr)
    failed = re.findall(r"^(?:FAIL|ERROR): (\S+)", done.stderr, re.MULTILINE)
    return int(ran[1]), int(skipped[1]) if skipped else 0, failed


# The tests are only in the package's source.
name = f"django-{django.__version__}"
command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary=django", "--no-build-isolation"]
fetched = subprocess.run([*command, f"django=={django.__version__}"], capture_output=True, text=True)
if fetched.returncode:
    skip(f"the tests in the source of Django cannot be fetched: {fetched.stderr.strip().splitlines()[-1]}")
with tarfile.open(f"{name}.tar.gz") as archive:
    archive.extractall(filter="data")
tests = Path(name, "tests").absolute()
(tests / "gpudb_settings.py").write_text(SETTINGS)
version(django.__version__)
with check("connect", "with a password"):
    same(psycopg.connect().execute("SELECT 1").fetchone(), (1,))
end, total, left, bad = time.monotonic() + SECONDS, 0, 0, 0
for application, feature in APPLICATIONS.items():
    with check(feature, f"suite, {application}"):
        ran, skipped, failed = run(application, end - time.monotonic())
        total, left, bad = total + ran, left + skipped, bad + len(failed)
        if failed:
            raise AssertionError(f"{len(failed)} of {ran} fail: {', '.join(failed)}")
note(
    f"{len(APPLICATIONS)} applications of its own tests: {total - left - bad} passed, {bad} failed, {left} skipped by itself"
)
note("not run: the other applications of its tests")
