"""A command of a shell that runs a module forked from the process at the socket of the variable FORKED_FROM.

Run by path: the module and its arguments. Imports nothing else, so that it starts at once.
"""

from __future__ import annotations

import json
import os
import socket
import sys

with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asks:
    asks.connect(os.environ["FORKED_FROM"])
    request = {
        "module": sys.argv[1],
        "arguments": sys.argv[2:],
        "environment": dict(os.environ),
        "folder": os.getcwd(),  # noqa: PTH109
    }
    socket.send_fds(asks, [json.dumps(request).encode()], [0, 1, 2])
    asks.recv(32)  # its process id
    status = int(asks.recv(32))
sys.exit(status if status >= 0 else 128 - status)
