"""Settings of searches by indexes of vectors: how far they look, by pgvector's names and, for cuVS's methods, alike.

Iterative scans are accepted and shown, without effect: a search always goes on until it has found enough rows.
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
        Setting(
            "cagra.itopk_size", "64", "Sets the number of rows that a search of a graph keeps.",
            integer("cagra.itopk_size", 1, 1024), kind="integer",
        ),
        Setting(
            "ivf_flat.probes", "20", "Sets the number of lists that a search reads.",
            integer("ivf_flat.probes", 1, _MAX_LISTS), kind="integer",
        ),
        Setting(
            "ivf_pq.probes", "20", "Sets the number of lists that a search reads.",
            integer("ivf_pq.probes", 1, _MAX_LISTS), kind="integer",
        ),
    )  # fmt: skip
