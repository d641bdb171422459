"""The last stage of a statement on the host: merging of groups, exact averages, HAVING, ORDER BY and LIMIT."""

from __future__ import annotations
