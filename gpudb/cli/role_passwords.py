"""Passwords of roles from files, as secrets are mounted: a file is named as a role and has its password."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

from gpudb.api.names import quote_identifier
from gpudb.catalog.model import BOOTSTRAP_ROLE_OID
from gpudb.errors import GpudbError, SqlError
from gpudb.functions.text_literal import quote_literal
from gpudb.session.database import Database
from gpudb.values.scram import make_verifier, parse_verifier, password_matches

_LOG = logging.getLogger(__name__)


def apply_role_passwords(database: Database, folder: Path) -> None:
    """Gives each role that a file of `folder` is named after the file's password; a missing role is created with LOGIN.

    A role that has the password already is left as it is. Raises F0000 for a folder or file that cannot be read, and
    for an empty password.
    """
    passwords = _read_passwords(folder)
    changes = []
    for name, password in passwords.items():
        role = database.store.catalog().roles.get(name)
        if role is not None:
            verifier = parse_verifier(role.verifier) if role.verifier is not None else None
            if verifier is not None and password_matches(password, verifier):
                continue
        verb = "CREATE ROLE {} LOGIN PASSWORD {}" if role is None else "ALTER ROLE {} PASSWORD {}"
        # The verifier, so that no password is in a statement.
        changes.append(verb.format(quote_identifier(name), quote_literal(make_verifier(password))))
    if not changes:
        return
    superuser = next(role.name for role in database.roles().values() if role.oid == BOOTSTRAP_ROLE_OID)
    session = database.session(superuser)
    try:
        for result in session.run("; ".join(changes)):
            result.close()
    finally:
        session.close()


def reapply_role_passwords(database: Database, folder: Path) -> None:
    """Applies passwords that may have changed while the server runs; an error is logged."""
    try:
        apply_role_passwords(database, folder)
    except GpudbError as error:
        _LOG.error("the passwords of roles are not loaded again: %s", error)


def _read_passwords(folder: Path) -> Mapping[str, str]:
    try:
        # Kubernetes keeps the files of a secret in hidden directories, and links to them.
        files = [path for path in sorted(folder.iterdir()) if path.is_file() and not path.name.startswith(".")]
        passwords = {path.name: path.read_text(encoding="utf-8").removesuffix("\n") for path in files}
    except (OSError, UnicodeDecodeError) as error:
        raise SqlError.of("config_file_error", f'role_passwords "{folder}" cannot be read: {error}') from error
    for name, password in passwords.items():
        if not password:
            raise SqlError.of("config_file_error", f'the password of role "{name}" in "{folder}" is empty')
    return passwords
