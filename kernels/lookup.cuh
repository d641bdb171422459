// Probes of build sides: bitmaps, and open-addressing hash tables, whose empty slots hold -1.
#pragma once
#include "columns.cuh"

// Shifts bits down by one, and inserts the lowest bit of a word at the top.
__device__ __forceinline__ u32 pushed(u32 bits, u32 word) { return __funnelshift_r(bits, word, 1); }

// The word with the bit of `place` in a bitmap that begins `offset` bytes into shared memory.
__device__ __forceinline__ u32 shared_word(const uint4* shared, u32 offset, u32 place) {
    return *reinterpret_cast<const u32*>(reinterpret_cast<const u8*>(shared) + ((place >> 5) * 4 + offset));
}

// Element `at` (below V, a power of two) of a thread's values in registers, which are not addressable.
template <int V, class T>
__device__ __forceinline__ T picked(const T (&of)[V], int at) {
    T left[V];
#pragma unroll
    for (int k = 0; k < V; ++k) left[k] = of[k];
#pragma unroll
    for (int half = V / 2; half; half /= 2) {
#pragma unroll
        for (int k = 0; k < half; ++k) left[k] = at & half ? left[k + half] : left[k];
    }
    return left[0];
}

// MurmurHash3's finalizer; numpy_backend/hashing.py does the same.
__device__ __forceinline__ u64 mixed(u64 x) {
    x ^= x >> 33;
    x *= 0xFF51AFD7ED558CCDull;
    x ^= x >> 33;
    x *= 0xC4CEB9FE1A85EC53ull;
    return x ^ x >> 33;
}

// The slot of a key, or -1. The table is at most half full, so the loop ends.
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
