"""From text to bound statement: parsing, record stars, parameters, and the binder for the kind of statement.

Imports nothing else of `execution`.
"""

from __future__ import annotations
