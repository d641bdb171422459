"""The console: gpudb's page, and what it asks the server, on the HTTP port.

`routes` lists the addresses, `static_files` serves the built page. A `logins.ConsoleLogin` is a role's cookie and its
`tabs.Tab`s, each a session of gpudb; `statements` runs texts in them, `columns` and `frames` say how results travel.
`mosaic` answers charts, whose DuckDB dialect `dialect` translates; `documents` keeps queries and dashboards, `exports`
are downloads. Event loop and sessions meet in `channel` alone: what runs in a session runs on a thread.
"""
