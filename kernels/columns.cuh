// Loads of packed columns: the values of V consecutive rows at once, with the widest possible loads.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;
typedef __int128 i128;

// Hides a number's value from the compiler: knowing that it has few bits, it would add one more instruction per row.
__device__ __forceinline__ u32 hidden(u32 x) {
    asm("" : "+r"(x));
    return x;
}

// Keeps a number where it is computed: within a branch, divisions of several rows would not overlap.
__device__ __forceinline__ double computed_here(double x) {
    i64 bits = __double_as_longlong(x);
    asm volatile("" : "+l"(bits));
    return __longlong_as_double(bits);
}

// Streaming loads: columns are read once, and must not evict lookup tables from the L2 cache.
template <int WORDS>
__device__ __forceinline__ void load_words(const u8* at, u32 (&words)[WORDS]) {
    if constexpr (WORDS % 4 == 0) {
#pragma unroll
        for (int k = 0; k < WORDS / 4; ++k) {
            const uint4 got = __ldcs(reinterpret_cast<const uint4*>(at) + k);
            words[4 * k] = got.x, words[4 * k + 1] = got.y, words[4 * k + 2] = got.z, words[4 * k + 3] = got.w;
        }
    } else if constexpr (WORDS % 2 == 0) {
#pragma unroll
        for (int k = 0; k < WORDS / 2; ++k) {
            const uint2 got = __ldcs(reinterpret_cast<const uint2*>(at) + k);
            words[2 * k] = got.x, words[2 * k + 1] = got.y;
        }
    } else {
#pragma unroll
        for (int k = 0; k < WORDS; ++k) words[k] = __ldcs(reinterpret_cast<const u32*>(at) + k);
    }
}

// Loads rows first to first + V - 1 of a column of WIDTH bytes per value; first is a multiple of V.
template <int WIDTH, int V>
__device__ __forceinline__ void load(const u8* data, i64 first, u32 (&out)[V]) {
    static_assert(V % 4 == 0 && WIDTH <= 4, "whole words");
    u32 words[WIDTH * V / 4];
    load_words(data + first * WIDTH, words);
#pragma unroll
    for (int v = 0; v < V; ++v) {
        const int bit = v * WIDTH * 8, word = bit / 32, shift = bit % 32;
        // Three bytes move to the upper end of a word: one shift removes the other byte, and merges with a later
        // addition.
        if (WIDTH == 3) out[v] = (shift ? __funnelshift_r(words[word], words[bit / 32 + (shift > 8)], shift - 8)
                                        : words[word] << 8) >> 8;
        else out[v] = WIDTH == 4 ? words[word] : words[word] >> shift & (1u << (WIDTH & 3) * 8) - 1;
    }
}

template <int WIDTH, int V>
__device__ __forceinline__ void load(const u8* data, i64 first, u64 (&out)[V]) {
    static_assert(WIDTH == 8, "values of 64 bits");
    u32 words[2 * V];
    load_words(data + first * 8, words);
#pragma unroll
    for (int v = 0; v < V; ++v) out[v] = (u64)words[2 * v + 1] << 32 | words[2 * v];
}

// The end offset of the previous row's text; 0 for the first row of a group (of `last` + 1 rows, a power of two).
__device__ __forceinline__ u32 end_before(const u8* ends, i64 row, i64 last) {
    return row & last ? reinterpret_cast<const u32*>(ends)[row - 1] : 0;
}

// The validity bits of V rows; bit v is row first + v.
template <int V>
__device__ __forceinline__ u32 load_valid(const u8* bits, i64 first) {
    if constexpr (V == 16) return *reinterpret_cast<const u16*>(bits + (first >> 3));
    return bits[first >> 3] >> (first & 7) & ((1u << V) - 1);
}

// Loads one row's value and validity bit, as the first of several.
template <int WIDTH, class T>
__device__ __forceinline__ void load_row(const u8* data, i64 row, T (&out)[1]) {
    const u8* at = data + row * WIDTH;
    if constexpr (WIDTH == 2) out[0] = *reinterpret_cast<const u16*>(at);
    else if constexpr (WIDTH == 3) {
        // The word in which they begin and, for half of the rows, the next one: a lane's reads are serialized.
        const u32* const words = reinterpret_cast<const u32*>(data) + (row * 3 >> 2);
        const u32 shift = (u32)row * 24 & 31;
        u32 above = 0;
        const u32 below = words[0];
        if (shift > 8) above = words[1];
        out[0] = (T)(__funnelshift_r(below, above, shift) & 0xFFFFFF);
    }
    else if constexpr (WIDTH == 4) out[0] = *reinterpret_cast<const u32*>(at);
    else if constexpr (WIDTH == 8) out[0] = *reinterpret_cast<const u64*>(at);
    else out[0] = *at;
}
__device__ __forceinline__ u32 load_valid_row(const u8* bits, i64 row) { return bits[row >> 3] >> (row & 7) & 1u; }

// The first stored value whose decoded value is at least `limit` (above it with `beyond`). No stored value is 2^32 - 1.
__device__ __forceinline__ u32 stored_from(i64 limit, i64 base, u64 unit, bool beyond) {
    if (beyond ? limit < base : limit <= base) return 0;
    const u64 steps = ((u64)limit - (u64)base - !beyond) / unit;
    return (u32)(steps < 0xfffffffeull ? steps : 0xfffffffeull) + 1;
}

// Copies whole words into shared memory, with all threads of a block. (A call, even one outside of the row loop, would
// prevent its caller from keeping the operands of all loads in uniform registers.)
static __device__ __forceinline__ void copy_words(u32* to, const u32* from, int count) {
#pragma unroll 1
    for (int k = threadIdx.x; k < count; k += blockDim.x) to[k] = from[k];
}
