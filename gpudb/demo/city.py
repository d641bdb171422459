"""The city of the taxi rides: census tracts with neighbourhoods, boroughs and traffic weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
import numpy.typing as npt
import pyarrow as pa

PICK_BITS = 16
"""Bits of a lookup table that maps a uniform random integer to a weighted choice in one step."""

NEAR = 256
"""Number of nearest tracts, nearest first, in which a short ride may end."""

BOROUGHS = {
    "MN": (1, "Manhattan"),
    "BX": (2, "Bronx"),
    "BK": (3, "Brooklyn"),
    "QN": (4, "Queens"),
    "SI": (5, "Staten Island"),
}

MILES_PER_DEGREE_NORTH = 69.05
MILES_PER_DEGREE_EAST = 52.4

_LAYOUT_SEED = 20091101  # the map is the same for every seed
_SPREAD_DEGREES = 0.0021  # spread of tracts around their neighbourhood's centre, times the square root of their number

Picks = npt.NDArray[np.int16]


@dataclass(frozen=True, slots=True)
class City:
    """Arrays over tracts, indexed by tract number, and lookup tables for choosing tracts."""

    longitude: npt.NDArray[np.float64]
    latitude: npt.NDArray[np.float64]
    borough: npt.NDArray[np.int16]
    airport: npt.NDArray[np.int8]  # 0 none, 1 LaGuardia, 2 John F. Kennedy
    gid: npt.NDArray[np.int16]
    names: dict[str, pa.Array]  # ctlabel, boroname, ct2010, boroct2010, cdeligibil, ntacode, ntaname, puma
    pickups: dict[str, Picks]
    dropoffs: Picks
    near: Picks  # (tracts, NEAR)


def make_pick_table(weights: npt.NDArray[np.float64], bits: int = PICK_BITS) -> Picks:
    """Returns a table in which each position occurs in proportion to its weight (to one part in 2^bits)."""
    edges = np.cumsum(weights) / weights.sum()
    middles = (np.arange(1 << bits) + 0.5) / (1 << bits)
    return np.searchsorted(edges, middles).astype(np.int16)


@cache
def make_city() -> City:
    """Returns the city; computed once a process."""
    rng = np.random.default_rng(_LAYOUT_SEED)
    lines = files(__package__).joinpath("neighbourhoods.tsv").read_text(encoding="utf-8").splitlines()
    fields = [line.split("\t") for line in lines[1:]]
    tracts = np.array([int(row[5]) for row in fields])
    neighbourhood = np.repeat(np.arange(len(fields)), tracts)
    count = len(neighbourhood)
    spread = np.repeat(_SPREAD_DEGREES * np.sqrt(tracts - 1), tracts)[:, None] * rng.uniform(-1, 1, (count, 2))
    longitude = np.array([float(row[3]) for row in fields])[neighbourhood] + spread[:, 0]
    latitude = np.array([float(row[4]) for row in fields])[neighbourhood] + spread[:, 1] * 0.8
    boroughs = [BOROUGHS[fields[index][0][:2]] for index in neighbourhood]
    labels = _make_labels(np.array([code for code, _ in boroughs]), rng)
    share = rng.gamma(2.0, 1.0, count)  # within a neighbourhood some blocks are busier than others
    share /= np.bincount(neighbourhood, share)[neighbourhood]
    yellow = share * np.array([float(row[6]) for row in fields])[neighbourhood]
    green = share * np.array([float(row[7]) for row in fields])[neighbourhood]
    airports = np.cumsum([row[1] == "Airport" for row in fields]) * [row[1] == "Airport" for row in fields]
    codes = [f"{int(label * 100):06d}" for label in labels]
    return City(
        longitude=longitude,
        latitude=latitude,
        borough=np.array([code for code, _ in boroughs], np.int16),
        airport=airports[neighbourhood].astype(np.int8),
        gid=(rng.permutation(count) + 1).astype(np.int16),
        names={
            "ctlabel": pa.array([f"{label:g}" for label in labels]),
            "boroname": pa.array([name for _, name in boroughs]),
            "ct2010": pa.array(codes),
            "boroct2010": pa.array([f"{code}{tract}" for (code, _), tract in zip(boroughs, codes)]),
            "cdeligibil": pa.array(np.where(rng.random(count) < 0.55, "I", "E")),
            "ntacode": pa.array([fields[index][0] for index in neighbourhood]),
            "ntaname": pa.array([fields[index][1] for index in neighbourhood]),
            "puma": pa.array([fields[index][2] for index in neighbourhood]),
        },
        pickups={
            "yellow": make_pick_table(yellow),
            "green": make_pick_table(green),
            "uber": make_pick_table(yellow + 4 * green),
        },
        dropoffs=make_pick_table(yellow + 2.5 * green),
        near=_find_nearest(longitude, latitude),
    )


def _make_labels(borough: npt.NDArray[np.int64], rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """Returns tract labels that are unique within a borough; a third are split ones such as 112.01."""
    labels = np.zeros(len(borough))
    for code in np.unique(borough):
        members = np.flatnonzero(borough == code)
        numbers = np.arange(1, len(members) + 1, dtype=np.float64)
        split = rng.random(len(members)) < 0.3
        labels[members] = rng.permutation(numbers + np.where(split, 0.01 * rng.integers(1, 3, len(members)), 0.0))
    return np.round(labels, 2)


def _find_nearest(longitude: npt.NDArray[np.float64], latitude: npt.NDArray[np.float64]) -> Picks:
    east = (longitude[:, None] - longitude) * MILES_PER_DEGREE_EAST
    north = (latitude[:, None] - latitude) * MILES_PER_DEGREE_NORTH
    return np.argsort(east**2 + north**2, axis=1)[:, :NEAR].astype(np.int16)
