"""What runs in a worker process: the handlers, the statements under way, their stages, and the process's limits.

Imports every layer below it. The server's process imports its plugin, its limits and the dry run of stages.
"""

from __future__ import annotations
