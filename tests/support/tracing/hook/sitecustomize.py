"""Records which files of gpudb run in this process and whom they call, while a shared byte is set.

Python imports this module at the start of every process that has its folder on PYTHONPATH. `GPUDB_TRACE` names two
files: one whose first byte is the number of the recording (0: none), and one to which each process appends its lines.
"""

from __future__ import annotations

import mmap
import os
import sys
import threading
from types import FrameType

_SWITCH, _LOG = os.environ["GPUDB_TRACE"].split(os.pathsep)
_descriptor = os.open(_LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
_switched = os.open(_SWITCH, os.O_RDONLY)
_switch = mmap.mmap(_switched, 1, prot=mmap.PROT_READ)
_MARK = f"{os.sep}gpudb{os.sep}"
_seen: set[tuple[int, str, str, str, str]] = set()


def _profile(frame: FrameType, event: str, argument: object) -> None:
    recording = _switch[0]
    if not recording or event != "call" or _MARK not in frame.f_code.co_filename:
        return
    caller = root = ""
    above = frame.f_back
    while above is not None:
        if _MARK in above.f_code.co_filename:
            caller = caller or above.f_code.co_filename
            root = above.f_code.co_name
        above = above.f_back
    seen = recording, root or frame.f_code.co_name, caller, frame.f_code.co_filename, frame.f_code.co_name
    if seen not in _seen:
        _seen.add(seen)
        os.write(_descriptor, ("\t".join(map(str, seen)) + "\n").encode())


threading.setprofile(_profile)
sys.setprofile(_profile)
