"""Addresses of objects, `s3://bucket/key`, and patterns of them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpudb.errors import FeatureNotSupported, SqlError

SCHEMES = {"s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs", "az": "az", "abfs": "az", "abfss": "az"}
"""Schemes of addresses, each with the storage that it means."""
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_MAGIC = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class Address:
    """An object, a prefix or a pattern; `path` is bucket and key."""

    scheme: str
    path: str

    @property
    def bucket(self) -> str:
        """The bucket, or the container."""
        return self.path.partition("/")[0]

    def __str__(self) -> str:
        return f"{self.scheme}://{self.path}"


def is_remote(text: str) -> bool:
    """Returns whether a name of a file is an address that is not `file://`."""
    found = _ADDRESS.match(text)
    return found is not None and found[1].lower() != "file"


def read_address(text: str) -> Address:
    """Returns an address; 0A000 for other schemes, 22023 for one without a bucket or with credentials."""
    scheme, _, path = text.partition("://")
    known = SCHEMES.get(scheme.lower())
    if known is None:
        hint = f"There are file and {', '.join(sorted(SCHEMES))}."
        raise FeatureNotSupported(f"addresses with the scheme {scheme} are not supported", hint=hint)
    bucket = path.partition("/")[0]
    if "@" in bucket or not bucket or ":" in bucket or _MAGIC.search(bucket):
        reason = "it must be scheme://bucket/key"
        has_name = "@" in path
        shown = f"{scheme}://…" if has_name else text
        source = "Credentials come from the environment, or from the user mapping of a server." if has_name else None
        raise SqlError.of("invalid_parameter_value", f'"{shown}" is not an address: {reason}', hint=source)
    return Address(known, re.sub("/+", "/", path))


def has_pattern(path: str) -> bool:
    """Returns whether a path is a pattern."""
    return _MAGIC.search(path) is not None


def find_base(path: str) -> str:
    """Returns the folders of a pattern that come before its first special character."""
    parts = path.split("/")
    first = next(number for number, part in enumerate(parts) if has_pattern(part))
    return "/".join(parts[:first])


def compile_pattern(path: str) -> re.Pattern[str]:
    """Returns an expression for the paths that a pattern matches: `*` within a folder, `**` any folders."""
    pieces = []
    parts = path.split("/")
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        if part == "**":
            pieces.append(".*" if last else "(?:[^/]+/)*")
        else:
            pieces.append(_translate(part) + ("" if last else "/"))
    return re.compile("".join(pieces), re.DOTALL)


def _translate(part: str) -> str:
    result, at = [], 0
    while at < len(part):
        mark = part[at]
        end = part.find("]", at + 2) if mark == "[" else -1
        if mark == "*":
            result.append("[^/]*")
        elif mark == "?":
            result.append("[^/]")
        elif end > 0:
            inside = part[at + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
            result.append(f"[^{inside[1:]}]" if inside.startswith("!") else f"[{inside.replace('^', chr(92) + '^')}]")
            at = end
        else:
            result.append(re.escape(mark))
        at += 1
    return "".join(result)
