"""HyperLogLog: the number of distinct values, from the least hash in each of 4,096 registers.

A value's hash has 63 bits. The upper 12 are its register, the lower 51 its rest; the rank of a rest is one more than
the number of its leading zeros, at most 50. A register is as good as the greatest rank in it, which the least rest has.
The estimate is Ertl's: it needs no correction for few or many values, and its standard error is 1.04 / √4096 = 1.6%.

Every engine uses these hashes and ranks, so all of them return the same estimate.

Sources: Flajolet, Fusy, Gandouet, Meunier, HyperLogLog (2007); Ertl, New cardinality estimation algorithms for
HyperLogLog sketches (2017), "improved raw estimation"; Evensen, Moremur, a mixer of 64 bits (2019).
"""

from __future__ import annotations

from functools import cache
from math import log

import numpy as np

from gpudb.exact.limbs import Array

REGISTERS = 1 << 12
REST_BITS = 51
MAX_RANK = 50
SHIFTS = (27, 33, 27)
MULTIPLIERS = (0x3C79AC492BA7B653, 0x1C69B3F74AC4AE35)
"""Moremur's constants; products with 64-bit integers have fewer than 128 bits, so that signed ones hold them."""
SCALE = REGISTERS**2 / (2 * log(2))
"""The estimate is this, divided by the sum of 2 to the power of -rank over all registers, corrected for empty ones."""
RANK_BITS = 6


def mix(values: Array) -> Array:
    """Returns 64 well mixed bits of each unsigned integer."""
    for shift, multiplier in zip(SHIFTS, MULTIPLIERS, strict=False):
        values = (values ^ values >> np.uint64(shift)) * np.uint64(multiplier)
    mixed: Array = values ^ values >> np.uint64(SHIFTS[-1])
    return mixed


def estimate_encoded(codes: Array, starts: Array) -> Array:
    """Returns the estimates of groups of registers with ranks; group g's are those from starts[g] to starts[g + 1].

    A code is register × 64 + rank; a group may have several codes of one register.
    """
    groups = len(starts) - 1
    keys = np.sort(np.repeat(np.arange(groups), np.diff(starts)) << 18 | codes)
    last = np.ones(len(keys), bool)
    last[:-1] = keys[1:] >> RANK_BITS != keys[:-1] >> RANK_BITS
    keys = keys[last]
    at = keys >> 18
    totals = np.zeros(groups, np.int64)
    np.add.at(totals, at, np.int64(1) << MAX_RANK - (keys & (1 << RANK_BITS) - 1))
    return estimate(np.bincount(at, minlength=groups), totals)


def estimate(used: Array, totals: Array) -> Array:
    """Returns estimates from the number of registers with values, and their sums of 2 to the power of 50 - rank."""
    sums = empty_registers()[REGISTERS - used] + totals / 2.0**MAX_RANK
    estimates: Array = np.floor(SCALE / sums + 0.5).astype(np.int64)
    return estimates


@cache
def empty_registers() -> Array:
    """Returns what 0 to 4,096 empty registers add to the sum of 2 to the power of -rank: infinity if all are empty."""
    part = np.arange(REGISTERS) / REGISTERS
    total, factor = part.copy(), 1.0
    for _ in range(24):  # the last terms are 0
        part = part * part
        total += part * factor
        factor += factor
    return np.append(total * REGISTERS, np.inf)
