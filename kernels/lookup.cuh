// Probes of build sides in hash tables with open addressing; empty slots hold -1.
#pragma once
#include "columns.cuh"

// MurmurHash3's finalizer; gpudb's lookups.py is the same in NumPy.
__device__ __forceinline__ u64 mixed(u64 x) {
    x ^= x >> 33;
    x *= 0xFF51AFD7ED558CCDull;
    x ^= x >> 33;
    x *= 0xC4CEB9FE1A85EC53ull;
    return x ^ x >> 33;
}

// The slot of a key, or -1. The table is at most half full.
__device__ __forceinline__ i64 probe(const i64* keys, i64 mask, i64 key) {
    i64 place = (i64)(mixed((u64)key) & (u64)mask);
#pragma unroll 1
    while (true) {
        const i64 held = __ldg(keys + place);
        if (held == key) return place;
        if (held == -1) return -1;
        place = place + 1 & mask;
    }
}
