"""Plans where rows are computed: distributions, exchanges and stages.

May import all of the plan but `dask`.
"""

from __future__ import annotations
