"""Approximate indexes of vectors and bit strings: graphs and inverted lists over the rows of one data file each.

An index names rows, never distances: whoever searches computes the distances of the rows that it finds. Child processes
build indexes (`building`), `file_indexes` keeps them in a folder beside the tables. This room imports only `values`,
`analytics` (its importer of libraries), `processes`, `errors` and `types`.
"""
