"""Servers: `wire` speaks PostgreSQL's protocol. Imports session and everything below it; only the command line imports
it.
"""
