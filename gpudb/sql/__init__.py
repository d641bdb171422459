"""SQL as PostgreSQL means it: `parse` reads the text, `rewrite/` normalises constructs, `bind/` gives names and types.

What comes out (`bound`) needs no guessing: every engine works from it. Imports errors to catalog.
"""
