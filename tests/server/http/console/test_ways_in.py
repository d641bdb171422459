"""How users come to the console: from serve's output, from a connection, from the demonstration."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

import gpudb
from gpudb.api.console import find_console
from gpudb.demo.dashboard import store_dashboard
from gpudb.errors import GpudbError
from tests.support.console_client import API, Client
from tests.support.server_program import Program

URL = "http://127.0.0.1:8080/console/"


def test_a_connection_tells_the_address(server: Program) -> None:
    with gpudb.connect(f"postgresql://gpudb@{server.host}:{server.port}/gpudb") as connection:
        assert connection.console(browse=False) == f"{server.http}/console/"
    with gpudb.connect() as connection, pytest.raises(GpudbError) as caught:
        connection.console()
    assert (caught.value.sqlstate, "--http-port" in str(caught.value.hint)) == ("0A000", True)


@pytest.mark.parametrize(
    "url, host, expected",
    [
        (URL, "127.0.0.1", URL),
        (URL, "localhost", URL),
        (URL, "/run/postgresql", URL),
        ("https://0.0.0.0:8443/console/", "db.example", "https://db.example:8443/console/"),
        ("http://[::]:80/console/", "2001:db8::1", "http://[2001:db8::1]:80/console/"),
        ("https://10.0.0.7:8443/console/", "db.example", "https://10.0.0.7:8443/console/"),
    ],
)
def test_the_address_is_one_that_the_user_reaches(url: str, host: str, expected: str) -> None:
    assert find_console(url, host) == expected


@pytest.mark.parametrize("url, host, sqlstate", [("", "127.0.0.1", "0A000"), (URL, "db.example", "08001")])
def test_no_address(url: str, host: str, sqlstate: str) -> None:
    with pytest.raises(GpudbError) as caught:
        find_console(url, host)
    assert caught.value.sqlstate == sqlstate
    assert caught.value.hint


def test_the_demonstration_stores_its_dashboard(server: Program, client: Client, tmp_path: Path) -> None:
    file = tmp_path / "dashboard.json"
    document = {"kind": "dashboard", "name": "Rides", "shared": True, "body": {"views": [1]}}
    file.write_text(json.dumps(document))
    address = store_dashboard(f"{server.http}/console/", file)
    identifier = address.removeprefix(f"{server.http}/console/#/d/")
    found = client.http.get(f"{API}/documents/{identifier}").json()
    assert {name: found[name] for name in document} == document
    file.write_text(json.dumps({**document, "body": {"views": [2]}}))
    assert store_dashboard(f"{server.http}/console/", file) == address
    assert client.http.get(f"{API}/documents/{identifier}").json()["body"] == {"views": [2]}


def test_the_root_leads_to_the_console(server: Program) -> None:
    assert httpx.get(server.http, trust_env=False).headers["location"] == "/console/"
