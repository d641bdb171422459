"""A client of the console, as its page is one: a login, frames of results, documents, charts."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pyarrow as pa

API = "/console/api"


@dataclass
class Answer:
    """What a text of statements was answered: its events, and the rows of each result."""

    events: list[dict[str, Any]] = field(default_factory=list)
    tables: list[pa.Table] = field(default_factory=list)

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [each for each in self.events if each["event"] == kind]

    @property
    def error(self) -> dict[str, Any] | None:
        return next(iter(self.of("error")), None)

    @property
    def transaction(self) -> str:
        return str(self.of("end")[0]["transaction"])

    def rows(self) -> list[tuple[Any, ...]]:
        """The rows of the last result."""
        return list(zip(*(column.to_pylist() for column in self.tables[-1].columns), strict=True))


class Client:
    """A login of the console; `http` is its connection, `csrf` the token of its page, `cookie` the cookie's name."""

    def __init__(self, base: str, user: str = "gpudb", password: str = "", **options: Any) -> None:
        self.http = httpx.Client(base_url=base, timeout=60, trust_env=False, **options)
        replies = [self._log_in(user, password)]
        while replies[-1].status_code == 503:  # the server listens before its console is open
            assert len(replies) < 1000
            time.sleep(0.02)
            replies.append(self._log_in(user, password))
        reply = replies[-1]
        if reply.status_code != 200:
            self.http.close()
            raise AssertionError(reply.text)
        self.login = reply.json()
        self.csrf = {"X-CSRF-Token": self.login["csrf"]}
        (self.cookie,) = self.http.cookies

    def _log_in(self, user: str, password: str) -> httpx.Response:
        return self.http.post(f"{API}/login", json={"user": user, "password": password})

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def post(self, path: str, body: object, **options: Any) -> httpx.Response:
        return self.http.post(f"{API}/{path}", json=body, headers=self.csrf, **options)

    def put(self, path: str, body: object) -> httpx.Response:
        return self.http.put(f"{API}/{path}", json=body, headers=self.csrf)

    def delete(self, path: str) -> httpx.Response:
        return self.http.delete(f"{API}/{path}", headers=self.csrf)

    def run(self, sql: str, tab: str = "tab", number: str = "1", **fields: Any) -> Answer:
        reply = self.post("statements", {"tab": tab, "id": number, "sql": sql, **fields})
        assert reply.status_code == 200, reply.text
        assert reply.headers["content-type"] == "application/x-gpudb-results"
        return read_answer(reply.content)

    def chart(self, sql: str, form: str = "arrow") -> httpx.Response:
        return self.post("mosaic", {"type": form, "sql": sql})


def iter_frames(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yields kind and payload of each frame."""
    at = 0
    while at < len(content):
        end = at + 5 + int.from_bytes(content[at + 1 : at + 5], "little")
        assert end <= len(content)
        yield content[at : at + 1], content[at + 5 : end]
        at = end


def read_answer(content: bytes) -> Answer:
    answer, stream = Answer(), b""
    for kind, payload in iter_frames(content):
        if kind == b"A":
            stream += payload
            continue
        event = json.loads(payload)
        answer.events.append(event)
        if event["event"] in ("complete", "error") and stream:
            if event["event"] == "complete":
                answer.tables.append(pa.ipc.open_stream(stream).read_all())
            stream = b""
    return answer
