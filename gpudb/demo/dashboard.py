"""Stores the dashboard of the taxi rides in a server, by its console."""

from __future__ import annotations

import json
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.request import HTTPCookieProcessor, ProxyHandler, Request, build_opener

FILE = Path(__file__).parent / "taxi_dashboard.json"
"""The document: its kind, name and body, and that all roles see it."""

_TIMEOUT_S = 30.0


class ConsoleClient:
    """A login of the console, by a role without password."""

    def __init__(self, url: str, user: str = "gpudb") -> None:
        """`url` is the console's address. Raises OSError if it refuses."""
        self._api = f"{url}api"
        self._opener = build_opener(ProxyHandler({}), HTTPCookieProcessor(CookieJar()))
        self._csrf = ""
        self._csrf = str(self.send("POST", "login", {"user": user, "password": ""})["csrf"])

    def send(self, method: str, path: str, body: object = None) -> Any:
        """Returns the JSON of an answer."""
        headers = {"content-type": "application/json", "x-csrf-token": self._csrf}
        content = None if body is None else json.dumps(body).encode()
        request = Request(f"{self._api}/{path}", content, headers, method=method)
        with self._opener.open(request, timeout=_TIMEOUT_S) as answer:
            return json.loads(answer.read() or b"null")


def store_dashboard(url: str, file: Path = FILE) -> str:
    """Stores the dashboard, in place of one of its name; returns its address. `url` is the console's."""
    document = json.loads(file.read_text(encoding="utf-8"))
    client = ConsoleClient(url)
    same = [each for each in client.send("GET", "documents") if each["name"] == document["name"]]
    if same:
        found = client.send("PUT", f"documents/{same[0]['id']}", document)
    else:
        found = client.send("POST", "documents", document)
    client.send("POST", "logout", {})
    return f"{url}#/d/{found['id']}"
