"""Classes of the constructs for which statements fall back: a label must have few values, and no text of users."""

from __future__ import annotations

OTHER = "other"
CLASSES = (
    *("volatile function", "window function", "set-returning function", "function", "aggregate", "partial aggregate"),
    *("cast", "type", "constant", "extract", "date_trunc", "to_char", "sum", "avg", "DISTINCT", "pattern", "sets"),
    *("regular expression", "width_bucket", "date_bin", "rounding", "RANGE frame", "recursion", "hashes", "LIKE"),
)


def classify_construct(construct: str) -> str:
    """Returns the class of a construct, which is its beginning without an article; OTHER for one that is not known."""
    text = construct.removeprefix("a ").removeprefix("an ")
    return next((each for each in CLASSES if text.startswith(each)), OTHER)
