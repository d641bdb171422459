"""PostgreSQL's regression topics and their case files; as a program, prints the share of equal answers.

A statement without a mark is equal on both servers: `test_differential` checks it. A marked one differs or is refused,
with its reason in the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tests.support import case_files

FILES: Mapping[str, str] = {
    "aggregates": "topics/aggregates aggregates_own",
    "arrays": "topics/arrays arrays",
    "case": "topics/case logic",
    "date": "topics/date dates",
    "delete": "topics/delete dml",
    "groupingsets": "topics/groupingsets grouping",
    "insert": "topics/insert on_conflict part_assignments dml",
    "interval": "topics/interval intervals",
    "join": "topics/join joins from_items",
    "json": "topics/json json json_records jsonpath sql_json",
    "limit": "topics/limit row_limits",
    "numeric": "topics/numeric topics/numeric_wide numerics",
    "select": "topics/select ordering",
    "strings": "topics/strings texts",
    "subselect": "topics/subselect subqueries",
    "timestamp": "topics/timestamp zones",
    "union": "topics/union setops",
    "update": "topics/update part_assignments dml",
    "window": "topics/window windows",
    "with": "topics/with ctes cte_changes",
    "alter_table": "ddl constraints foreign_keys foreign_keys_actions foreign_keys_deferred",
    "domain": "domains",
    "enum": "enums",
    "generated": "generated_columns",
    "identity": "identity",
    "insert_conflict": "on_conflict",
    "merge": "merge",
    "rangetypes": "ranges",
    "returning": "dml cte_changes",
    "rowtypes": "topics/rowtypes composites",
    "sequence": "sequences",
    "updatable_views": "views_updatable",
}
"""Case files by topic; each of the first twenty topics has a file in `topics`."""


@dataclass(frozen=True, slots=True)
class Share:
    """A topic's statement count, and its statements that are not equal."""

    statements: int
    other: tuple[str, ...]

    @property
    def equal(self) -> float:
        """The share of equal statements."""
        return 1 - len(self.other) / self.statements


def shares() -> dict[str, Share]:
    """Returns every topic's share."""
    files = case_files.read_all()
    made = {}
    for topic, names in FILES.items():
        cases = [each for name in names.split() for each in files[name] if not each.setup]
        other = tuple(each.name for each in cases if each.differs or each.refused is not None)
        made[topic] = Share(len(cases), other)
    return made


if __name__ == "__main__":
    print(f"{'topic':16} {'statements':>10} {'equal':>6} {'other':>6} {'share':>7}")
    for topic, share in shares().items():
        count, other = share.statements, len(share.other)
        print(f"{topic:16} {count:10} {count - other:6} {other:6} {share.equal:7.1%}")
