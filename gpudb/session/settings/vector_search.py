"""pgvector's settings of approximate searches: accepted, checked and shown, without effect.

They trade exactness for time, which gpudb does not: a search reads all vectors, so that every recall is 1.
"""

from __future__ import annotations

from gpudb.session.settings.checks import Setting, choice, integer

_MAX_LISTS = 32_768


def vector_settings() -> tuple[Setting, ...]:
    """Returns the settings, with pgvector's defaults and bounds."""
    return (
        Setting(
            "hnsw.ef_search", "40", "Sets the size of the dynamic candidate list for search.",
            integer("hnsw.ef_search", 1, 1000), kind="integer",
        ),
        Setting(
            "hnsw.iterative_scan", "off", "Sets the mode for iterative scans.",
            choice("hnsw.iterative_scan", "off", "relaxed_order", "strict_order"), kind="enum",
        ),
        Setting(
            "hnsw.max_scan_tuples", "20000", "Sets the max number of tuples to visit for iterative scans.",
            integer("hnsw.max_scan_tuples", 1, 2**31 - 1), kind="integer",
        ),
        Setting(
            "ivfflat.iterative_scan", "off", "Sets the mode for iterative scans.",
            choice("ivfflat.iterative_scan", "off", "relaxed_order"), kind="enum",
        ),
        Setting(
            "ivfflat.max_probes", str(_MAX_LISTS), "Sets the max number of probes for iterative scans.",
            integer("ivfflat.max_probes", 1, _MAX_LISTS), kind="integer",
        ),
        Setting(
            "ivfflat.probes", "1", "Sets the number of probes.",
            integer("ivfflat.probes", 1, _MAX_LISTS), kind="integer",
        ),
    )  # fmt: skip
