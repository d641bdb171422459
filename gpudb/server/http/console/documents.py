"""Saved queries and dashboards: rows of the catalog, of which a role sees its own and those that are shared."""

from __future__ import annotations

import datetime as dt
import json
import secrets
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gpudb.catalog.documents import Document
from gpudb.catalog.model import Catalog
from gpudb.catalog.roles import Role
from gpudb.errors import GpudbError, SqlError
from gpudb.storage.store import Store

KINDS = ("query", "dashboard")
MAX_BODY = 4 << 20
"""Bytes of a request with a document."""

MAX_TOTAL = 64 << 20
"""Bytes of the bodies of all documents of a role: the catalog is in the memory of every coordinator."""
_MAX_DOCUMENTS, _MAX_NAME = 1000, 200
_ATTEMPTS = 5
_CONFLICTS = frozenset({"40001", "40P01"})


class Documents:
    """The documents of a database, as a role sees and changes them: 42704 for others, 42501 for those of others."""

    def __init__(self, store: Store, database: str, role: Role) -> None:
        self._store, self._database, self._role = store, database, role

    def list_all(self) -> list[dict[str, object]]:
        """Returns the documents that the role sees, without their bodies, the last changed first."""
        catalog = self._read()
        seen = [each for each in catalog.documents.values() if self._sees(each)]
        return [_describe(catalog, each) for each in sorted(seen, key=lambda each: each.changed, reverse=True)]

    def load(self, identifier: str) -> dict[str, object]:
        """Returns a document with its body."""
        catalog = self._read()
        found = self._find(catalog, identifier)
        return {**_describe(catalog, found), "body": json.loads(found.body)}

    def add(self, kind: str, name: str, shared: bool, body: object) -> dict[str, object]:
        """Adds a document of the role; 54000 beyond what a role may have."""
        identifier = secrets.token_urlsafe(9)
        made = Document(identifier, kind, _check_name(name), self._role.oid, shared, _now(), _encode(body))

        def put(catalog: Catalog) -> Catalog:
            if sum(each.owner == self._role.oid for each in catalog.documents.values()) >= _MAX_DOCUMENTS:
                message = f"a role has no more than {_MAX_DOCUMENTS} documents"
                raise SqlError.of("program_limit_exceeded", message, hint=_LIMIT_HINT)
            return _put(catalog, made)

        return _describe(self._change(put), made)

    def change(self, identifier: str, fields: dict[str, Any]) -> dict[str, object]:
        """Changes the fields `name`, `shared` and `body` of a document, of which any may be missing; 54000 as `add`."""
        changes = {key: value for key, value in fields.items() if key in ("name", "shared")}
        if "name" in changes:
            _check_name(changes["name"])
        if "body" in fields:
            changes["body"] = _encode(fields["body"])

        def put(catalog: Catalog) -> Catalog:
            return _put(catalog, replace(self._find_own(catalog, identifier), **changes, changed=_now()))

        catalog = self._change(put)
        return _describe(catalog, catalog.documents[identifier])

    def remove(self, identifier: str) -> None:
        """Removes a document."""
        self._change(lambda catalog: catalog.drop(self._find_own(catalog, identifier)))

    def _read(self) -> Catalog:
        self._store.refresh()
        return self._store.catalog(self._database)

    def _change(self, change: Callable[[Catalog], Catalog]) -> Catalog:
        """Commits a change of the catalog, again if another one comes before it; returns the catalog with it."""
        for attempt in range(_ATTEMPTS):
            self._store.refresh()
            transaction = self._store.begin(self._database)
            try:
                changed = change(transaction.catalog)
                transaction.set_catalog(changed)
            except BaseException:
                transaction.rollback()
                raise
            try:
                transaction.commit()
                return changed
            except GpudbError as error:
                if error.sqlstate not in _CONFLICTS or attempt == _ATTEMPTS - 1:
                    raise
        raise AssertionError("the last attempt raises")

    def _sees(self, document: Document) -> bool:
        return document.shared or document.owner == self._role.oid or self._role.superuser

    def _find(self, catalog: Catalog, identifier: str) -> Document:
        found = catalog.documents.get(identifier)
        if found is None or not self._sees(found):
            raise SqlError.of("undefined_object", "there is no such document")
        return found

    def _find_own(self, catalog: Catalog, identifier: str) -> Document:
        found = self._find(catalog, identifier)
        if found.owner != self._role.oid and not self._role.superuser:
            raise SqlError.of("insufficient_privilege", f'must be owner of the document "{found.name}"')
        return found


_LIMIT_HINT = "Delete documents that are not needed any more."


def _put(catalog: Catalog, document: Document) -> Catalog:
    """Returns the catalog with a document; 54000 if its owner's would be too large together."""
    others = (each for each in catalog.documents.values() if each.owner == document.owner and each.id != document.id)
    size = len(document.body.encode())
    total = size + sum(len(each.body.encode()) for each in others)
    known = catalog.documents.get(document.id)
    if total > MAX_TOTAL and (known is None or size > len(known.body.encode())):
        message = f"the documents of a role have no more than {MAX_TOTAL >> 20} MB together"
        detail = f"With this one they would have {total / (1 << 20):.1f} MB."
        raise SqlError.of("program_limit_exceeded", message, detail=detail, hint=_LIMIT_HINT)
    return catalog.put(document)


def _describe(catalog: Catalog, document: Document) -> dict[str, object]:
    owner = next((role.name for role in catalog.roles.values() if role.oid == document.owner), None)
    return {
        "id": document.id,
        "kind": document.kind,
        "name": document.name,
        "owner": owner,
        "shared": document.shared,
        "changed": document.changed,
    }


def _check_name(name: str) -> str:
    if not name.strip() or len(name) > _MAX_NAME:
        message = f"a document's name has 1 to {_MAX_NAME} characters"
        raise SqlError.of("invalid_parameter_value", message)
    return name


def _encode(body: object) -> str:
    """Returns a body as JSON; 22P05 for texts with characters that cannot be stored."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError as error:
        message = "the body has half of a surrogate pair"
        raise SqlError.of("untranslatable_character", message) from error
    return text


def _now() -> str:
    return dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")
