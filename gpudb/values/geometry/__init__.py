"""Geometric values: points, lines, segments, boxes, paths, polygons and circles, as PostgreSQL's geo_ops.c has them.

A value is bytes, as PostgreSQL sends it: big-endian doubles, those of a path or polygon after a header. `forms` has the
columns, `texts` the text forms; `floats` the arithmetic with which `points`, `lines`, `boxes`, `circles` and `polygons`
compute whole columns; `operations` lists what is computed, by the signatures of PostgreSQL's functions.
"""
