"""gpudb's tables as an Iceberg REST catalog, for reading and appends: `/iceberg/v1/…` of the HTTP port.

`login` knows who asks, `tokens` makes bearer tokens, `namespaces` has what a role may see, `appends` takes
files, `routes` answers.
"""
