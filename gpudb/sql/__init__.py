"""PostgreSQL's SQL: `parse/` reads text, `rewrite/` normalizes, `bind/` resolves names and types.

Bound statements (`bound`) are unambiguous: every engine works from them. Imports the rooms from errors to catalog.
"""
