"""The dialect of DuckDB that Mosaic's charts emit, translated to PostgreSQL's.

`spelling` changes tokens, so that PostgreSQL's grammar reads the text; `calls` has PostgreSQL's form of functions,
operators and types, `trees` puts them into the tree; `aliases` resolves names of the select list within it, which
DuckDB looks up where no column has the name. `templates` keeps translations for texts that differ in constants
alone; `translate` is the way of a statement through all of them. Only what Mosaic emits is translated; what PostgreSQL
would read in another sense is refused.
"""
