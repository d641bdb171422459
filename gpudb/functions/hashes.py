"""PostgreSQL's hash functions of text and integers, which applications call to make numbers for advisory locks."""

from __future__ import annotations

from gpudb.functions.registry import declare

declare("hashtext", "pg_hash_text({0})")
declare("hashtextextended", "pg_hash_text_extended({0}, {1})")
# A character string's blanks at its end do not count
declare("hashbpchar", "pg_hash_text(rtrim({0}, ' '))")
declare("hashbpcharextended", "pg_hash_text_extended(rtrim({0}, ' '), {1})")
for _name in ("hashint2", "hashint4", "hashint8", "hashoid"):
    declare(_name, "pg_hash_integer({0})")
    declare(f"{_name}extended", "pg_hash_integer_extended({0}, {1})")
