"""Processes that run what must be stoppable: functions that hold the interpreter, libraries, and users' code.

A child serves calls one at a time (`serving`); its parent calls it and kills it when nobody waits any more (`child`),
and keeps idle children for the next call (`pool`). Large buffers of calls lie in memory that both share
(`shared_memory`). `limits` has what this process may use of the machine. This room imports only errors.
"""
