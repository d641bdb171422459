"""A checker of snapshot isolation: clients record versions of counters that they read and write, and it finds anomalies.

Each counter is a row with a version and the transaction that wrote it; a write makes the version one larger. So the
versions of a counter are in the order of their commits, and what a snapshot may show follows from the records alone.
"""

from __future__ import annotations

import enum
import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

Versions = Mapping[str, tuple[int, int]]
"""The version of every counter, and the number of the transaction that wrote it (0: none did)."""


class End(enum.Enum):
    """How a transaction ended, as its client knows."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    UNKNOWN = "unknown"


@dataclass(slots=True)
class Recorded:
    """One transaction: its client, the snapshots that it read before its first write, and the versions it wrote.

    `own` are snapshots read after writes. `repeatable` is whether all reads and writes are of one snapshot.
    """

    number: int
    client: str
    repeatable: bool
    reads: list[Versions] = field(default_factory=list)
    own: list[Versions] = field(default_factory=list)
    writes: dict[str, int] = field(default_factory=dict)
    end: End = End.UNKNOWN


def find_anomalies(history: Iterable[Recorded], final: Versions) -> list[str]:
    """Returns what contradicts snapshot isolation; each client's transactions are in the order in which it ran them.

    `final` is what was read after all transactions ended.
    """
    transactions = {each.number: each for each in history}
    found: list[str] = []
    writers: dict[str, dict[int, int]] = defaultdict(dict)
    for each in transactions.values():
        if each.end is End.COMMITTED:
            for counter, version in each.writes.items():
                if (other := writers[counter].setdefault(version, each.number)) != each.number:
                    found.append(f"lost update: {other} and {each.number} both wrote version {version} of {counter}")
    for each in transactions.values():
        if each.end is End.UNKNOWN:
            # It has committed if anybody saw what it wrote.
            for counter, version in each.writes.items():
                writers[counter].setdefault(version, each.number)
    found += _check_final(transactions, writers, final)
    needed = _list_needed(transactions, writers)
    snapshots: list[tuple[str, Versions]] = [("the last read", final)]
    for each in transactions.values():
        name = f"transaction {each.number}"
        snapshots += [(name, read) for read in each.reads]
        found += _check_own(each)
        if each.repeatable:
            found += _check_repeatable(each)
    for name, read in snapshots:
        found += _check_read(name, read, transactions, needed)
    found += _check_order(snapshots)
    found += _check_clients(transactions.values())
    return found


def _check_final(
    transactions: Mapping[int, Recorded], writers: Mapping[str, Mapping[int, int]], final: Versions
) -> list[str]:
    """Every acknowledged version is there, and each version has a writer."""
    found = []
    for counter, (last, writer) in final.items():
        made = writers.get(counter, {})
        lost = [number for version, number in made.items() if version > last]
        found += [
            f"lost: transaction {number}'s write of {counter}"
            for number in lost
            if transactions[number].end is End.COMMITTED
        ]
        found += [f"nobody wrote version {v} of {counter}" for v in range(1, last + 1) if v not in made]
        if last and made.get(last) != writer and transactions[writer].end is not End.UNKNOWN:
            found.append(f"lost update: {counter} is {writer}'s, where {made.get(last)} wrote version {last}")
    return found


def _list_needed(
    transactions: Mapping[int, Recorded], writers: Mapping[str, Mapping[int, int]]
) -> dict[tuple[str, int], dict[str, int]]:
    """For each version of a counter, the least versions of others that a snapshot with it must show."""
    needed: dict[tuple[str, int], dict[str, int]] = {}
    for counter, made in writers.items():
        least: dict[str, int] = {}
        for version in sorted(made):
            writer = transactions[made[version]]
            if writer.end is End.COMMITTED:
                for other, written in writer.writes.items():
                    least[other] = max(written, least.get(other, 0))
            needed[counter, version] = dict(least)
    return needed


def _check_read(
    name: str,
    read: Versions,
    transactions: Mapping[int, Recorded],
    needed: Mapping[tuple[str, int], Mapping[str, int]],
) -> list[str]:
    found = []
    for counter, (version, writer) in read.items():
        if writer and transactions[writer].end is End.ABORTED:
            found.append(f"aborted read: {name} saw {counter} of transaction {writer}")
        if writer and transactions[writer].writes.get(counter) != version:
            found.append(f"intermediate read: {name} saw {counter} of transaction {writer} at {version}")
        for other, least in needed.get((counter, version), {}).items():
            if read[other][0] < least:
                found.append(f"fractured read: {name} saw {counter} at {version} and {other} at {read[other][0]}")
    return found


def _check_own(each: Recorded) -> list[str]:
    return [
        f"transaction {each.number} did not see its own write of {counter}"
        for read in each.own
        for counter, version in each.writes.items()
        if read[counter] != (version, each.number)
    ]


def _check_repeatable(each: Recorded) -> list[str]:
    """One snapshot for all reads, and no write over what that snapshot did not show."""
    found = []
    for read in (*each.reads, *each.own):
        changed = [c for c in read if c not in each.writes and read[c] != each.reads[0][c]]
        found += [f"unrepeatable read: transaction {each.number} saw {counter} change" for counter in changed]
    if each.end is End.COMMITTED:
        found += [
            f"lost update: transaction {each.number} saw {counter} at {each.reads[0][counter][0]} and wrote {version}"
            for counter, version in each.writes.items()
            if version != each.reads[0][counter][0] + 1
        ]
    return found


def _check_order(snapshots: Iterable[tuple[str, Versions]]) -> list[str]:
    """Of any two snapshots, one is of an earlier moment in every counter."""
    ordered = sorted(snapshots, key=lambda each: sum(version for version, _ in each[1].values()))
    found = []
    for (one, before), (two, after) in itertools.pairwise(ordered):
        if any(before[counter][0] > after[counter][0] for counter in before):
            found.append(f"long fork: {one} and {two} saw commits in different orders")
    return found


def _check_clients(transactions: Iterable[Recorded]) -> list[str]:
    """A client's later snapshots show what it saw and wrote before."""
    found = []
    latest: dict[str, dict[str, int]] = defaultdict(dict)
    for each in transactions:
        known = latest[each.client]
        for read in each.reads:
            for counter, (version, _) in read.items():
                if version < known.get(counter, 0):
                    found.append(f"transaction {each.number} of {each.client} saw {counter} at an earlier version")
                known[counter] = max(version, known.get(counter, 0))
        if each.end is End.COMMITTED:
            for counter, version in each.writes.items():
                known[counter] = max(version, known.get(counter, 0))
    return found
