"""gpudb's tables as an Iceberg REST catalog, for reading: `/iceberg/v1/…` of the HTTP port.

`login` knows who asks, `tokens` makes bearer tokens, `namespaces` has what a role may see, `routes` answers.
"""
