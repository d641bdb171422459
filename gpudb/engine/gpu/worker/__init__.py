"""What runs in a worker process: the handlers, the statements under way, their stages, and the process's limits.

Imports every layer below it; the coordinator imports only its plugin, its message types and its estimates.
"""

from __future__ import annotations
