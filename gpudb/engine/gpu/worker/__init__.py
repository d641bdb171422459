"""What runs in a worker process: the handlers, the statements under way, and the process's limits.

Imports every layer below it. The server's process imports its plugin and its limits.
"""

from __future__ import annotations
