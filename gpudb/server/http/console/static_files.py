"""The built page: its files, with their compressed forms, from the package."""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

FOLDER = Path(__file__).parent / "static"
"""The build of the page, which is made from `console/`."""
INDEX = "index.html"

_ENCODINGS = {".br": "br", ".gz": "gzip"}
_COMPRESSED = ("text/", "application/json", "image/svg+xml")
_IMMUTABLE = "assets/"
"""Files whose names have the hash of their content."""
_TYPES = {".js": "text/javascript", ".mjs": "text/javascript", ".woff2": "font/woff2", ".wasm": "application/wasm"}


@dataclass(frozen=True, slots=True)
class _File:
    """The forms of a file by their encoding, '' for the plain one; a text has that of gzip from its first use on."""

    forms: dict[str, bytes]
    kind: str
    tag: str


class StaticFiles:
    """The files of a folder, read once. Only what was found there is ever served."""

    def __init__(self, folder: Path | None = None) -> None:
        folder = folder or FOLDER
        forms: dict[str, dict[str, bytes]] = {}
        for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
            if path.is_file() and not path.is_symlink():
                encoding = _ENCODINGS.get(path.suffix, "")
                plain = path.with_suffix("") if encoding else path
                forms.setdefault(plain.relative_to(folder).as_posix(), {})[encoding] = path.read_bytes()
        self._files = {name: _make_file(name, found) for name, found in forms.items()}

    def answer(self, request: Request, name: str) -> Response:
        """Returns a file in the smallest form that the client takes; 404."""
        name = name or INDEX
        file = self._files.get(name)
        if file is None:
            missing = not self._files and name == INDEX
            text = "the console's page is not part of this installation\n" if missing else "not found\n"
            return PlainTextResponse(text, 404)
        is_immutable = name.startswith(_IMMUTABLE)
        headers = {
            "cache-control": "public, max-age=31536000, immutable" if is_immutable else "no-cache",
            "etag": file.tag,
            "vary": "accept-encoding",
        }
        if request.headers.get("if-none-match") == file.tag:
            return Response(status_code=304, headers=headers)
        encoding, content = _choose_form(file, request.headers.get("accept-encoding", ""))
        if content is None:
            return PlainTextResponse("the file is compressed by Brotli alone\n", 406)
        if encoding:
            headers["content-encoding"] = encoding
        return Response(content, headers=headers, media_type=file.kind)


def _make_file(name: str, forms: dict[str, bytes]) -> _File:
    suffix = Path(name).suffix
    kind = _TYPES.get(suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    digest = hashlib.sha256()
    for encoding in sorted(forms):
        digest.update(forms[encoding])
    return _File(forms, kind, f'"{digest.hexdigest()[:32]}"')


def _choose_form(file: _File, accepted: str) -> tuple[str, bytes | None]:
    """Returns the encoding and the bytes of a file; no bytes if the client takes none of its forms."""
    takes = {
        part.partition(";")[0].strip().lower() for part in accepted.split(",") if ";q=0" not in part.replace(" ", "")
    }
    if "gzip" in takes and not file.forms.keys() & {"br", "gzip"} and file.kind.startswith(_COMPRESSED):
        file.forms["gzip"] = gzip.compress(file.forms[""], mtime=0)
    for encoding in ("br", "gzip"):
        if encoding in takes and encoding in file.forms:
            return encoding, file.forms[encoding]
    if "" in file.forms:
        return "", file.forms[""]
    return "", gzip.decompress(file.forms["gzip"]) if "gzip" in file.forms else None
