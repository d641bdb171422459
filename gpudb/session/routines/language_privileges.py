"""Languages of routines as statements name them: whether there is one, and whether the current role may use it."""

from __future__ import annotations

from gpudb.catalog.languages import TRAITS, Language, list_languages
from gpudb.catalog.model import Catalog
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedObject
from gpudb.session.authorization.membership import is_superuser
from gpudb.session.authorization.privileges import check_privilege, get_current_role, make_denied_error
from gpudb.session.context import Context


def check_language(context: Context, name: str, what: str) -> None:
    """42704 for an unknown language, 0A000 for internal ones, 42501 for one that the current role may not use.

    `what` is what is defined in it: functions, or DO blocks.
    """
    if name in {"c", "internal"}:
        hint = "Write it in SQL or PL/pgSQL."
        raise FeatureNotSupported(f"{what} in language {name} are not supported", hint=hint)
    catalog, role = context.transaction.catalog, get_current_role(context)
    language = require_language(catalog, name)
    if language.traits.trusted:
        check_privilege(catalog, role, language, "U")
    elif not is_superuser(catalog, role):
        raise make_denied_error("language", name)


def require_language(catalog: Catalog, name: str) -> Language:
    """Returns a language of the database; 42704."""
    found = list_languages(catalog.languages).get(name)
    if found is None:
        hint = "Use CREATE EXTENSION to load the language into the database." if name in TRAITS else None
        raise UndefinedObject(f'language "{name}" does not exist', hint=hint)
    return found


def find_grantable_language(catalog: Catalog, name: str) -> Language:
    """Returns a language whose privileges may be granted; 42704, 42809 for one that is not trusted."""
    found = require_language(catalog, name)
    if not found.traits.trusted:
        detail = "GRANT and REVOKE are not allowed on untrusted languages, because only superusers can use untrusted"
        message = f'language "{name}" is not trusted'
        raise SqlError.of("wrong_object_type", message, detail=f"{detail} languages.")
    return found
