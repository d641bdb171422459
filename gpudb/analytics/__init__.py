"""Analytics: models are trained and rows are scored by libraries, in child processes, over whole columns.

Each library is imported where a call needs it; without it the call raises 0A000. This room imports only `processes`,
`errors` and `types`.
"""
