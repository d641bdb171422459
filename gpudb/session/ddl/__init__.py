"""Data definition: one room for each kind of object, and what the rooms share.

`generic` has the statements for objects of any kind. `triggers` and `sequences` are one file each; `query_columns` and
`parse_nodes` are read by several rooms. Imports `routines`, `copy`, `execution`, `objects` and what is below them in
`session`, and nothing of `statements` or `dispatch`.
"""

from __future__ import annotations
