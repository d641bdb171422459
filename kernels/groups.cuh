// Groups' words: sums, minima and maxima; in registers, shared memory, or global memory.
#pragma once
#include "lookup.cuh"

// Adds to a 64-bit sum in shared memory with two 32-bit atomics, which the hardware has; small values seldom need both.
__device__ __forceinline__ void shared_add(u32* low, u32* high, i64 value) {
    const u32 part = (u32)value;
    const u32 before = atomicAdd(low, part);
    const u32 rest = (u32)((u64)value >> 32) + (before + part < part);
    if (rest) atomicAdd(high, rest);
}

// A group's key: WORDS integers below 2^62.
template <int WORDS>
struct GroupKey {
    i64 word[WORDS];
};

// Finds or inserts a group's slot in a hash table; -1 where the table is too full. The first of several words is
// written last: until then it is -2, and other threads that read it wait.
template <int WORDS>
__device__ __noinline__ i64 group_slot(i64* keys, i64 mask, GroupKey<WORDS> key) {
    u64 hash = mixed((u64)key.word[0]);
#pragma unroll
    for (int w = 1; w < WORDS; ++w) hash = mixed(hash ^ (u64)key.word[w]);
    i64 place = (i64)(hash & (u64)mask);
#pragma unroll 1
    for (int tries = 0; tries < 256; ++tries) {
        volatile i64* at = keys + place;
        i64 held = *at;
        if (held == -1) {
            held = (i64)atomicCAS((u64*)at, ~0ull, WORDS == 1 ? (u64)key.word[0] : (u64)-2);
            if (held == -1) {
                if (WORDS > 1) {
#pragma unroll
                    for (int w = 1; w < WORDS; ++w) at[w * (mask + 1)] = key.word[w];
                    __threadfence();
                    *at = key.word[0];
                }
                return place;
            }
        }
        if (WORDS > 1) {
            while (held == -2) held = *at;
            __threadfence();
        }
        bool same = held == key.word[0];
#pragma unroll
        for (int w = 1; w < WORDS; ++w) same = same && at[w * (mask + 1)] == key.word[w];
        if (same) return place;
        place = place + 1 & mask;
    }
    return -1;
}

// The sum over the lanes in `same`, returned to all of them. The hardware adds 32 bits: 16-bit parts of 32 lanes do not
// overflow, and the upper half wraps as intended.
static __device__ __noinline__ u64 warp_sum(u64 x, u32 same) {
    const u64 low = __reduce_add_sync(same, (u32)x & 0xFFFF);
    const u64 middle = __reduce_add_sync(same, (u32)(x >> 16) & 0xFFFF);
    const u64 high = __reduce_add_sync(same, (u32)(x >> 32));
    return low + (middle << 16) + (high << 32);
}
static __device__ __noinline__ double warp_sum(double x, u32 same) {
    double sum = 0;
#pragma unroll 1
    for (u32 left = same; left; left &= left - 1) sum += __shfl_sync(same, x, __ffs(left) - 1);
    return sum;
}

// Accumulation operators: of two values, into global memory, and into it for all lanes of a warp that share a slot
// (`same`), with one atomic, so that a slot of nearly all rows is no bottleneck.
struct Add {
    typedef u64 type;
    static __device__ __forceinline__ u64 of(u64 a, u64 b) { return a + b; }
    static __device__ __forceinline__ void put(u64* at, u64 x) { if (x) atomicAdd(at, x); }
    static __device__ __forceinline__ void together(u64* at, u64 x, u32 same) {
        if (same & same - 1) {
            x = warp_sum(x, same);
            if ((threadIdx.x & 31) != __ffs(same) - 1) return;
        }
        put(at, x);
    }
};
struct Least {
    typedef i64 type;
    static __device__ __forceinline__ i64 of(i64 a, i64 b) { return a < b ? a : b; }
    static __device__ __forceinline__ void put(u64* at, i64 x) { atomicMin((i64*)at, x); }
    static __device__ __forceinline__ void together(u64* at, i64 x, u32) {
        if (x < *(volatile i64*)at) put(at, x);
    }
};
struct Most {
    typedef i64 type;
    static __device__ __forceinline__ i64 of(i64 a, i64 b) { return a > b ? a : b; }
    static __device__ __forceinline__ void put(u64* at, i64 x) { atomicMax((i64*)at, x); }
    static __device__ __forceinline__ void together(u64* at, i64 x, u32) {
        if (x > *(volatile i64*)at) put(at, x);
    }
};
struct Real {
    typedef double type;
    static __device__ __forceinline__ double of(double a, double b) { return a + b; }
    static __device__ __forceinline__ void put(u64* at, double x) { atomicAdd((double*)at, x); }
    static __device__ __forceinline__ void together(u64* at, double x, u32 same) {
        if (same & same - 1) {
            x = warp_sum(x, same);
            if ((threadIdx.x & 31) != __ffs(same) - 1) return;
        }
        put(at, x);
    }
};

template <class T>
__device__ __forceinline__ void fill(T* at, u32 count, T value) {
#pragma unroll 1
    for (u32 k = threadIdx.x; k < count; k += blockDim.x) at[k] = value;
}

// Cells in shared memory: their initial value, the accumulation of a value, and the combination of a group's cells. The
// upper halves of sums follow the lower halves of all cells.
struct Counts {
    typedef u32 cell;
    typedef u64 word;
    static __device__ __forceinline__ u64 start() { return 0; }
    static __device__ __forceinline__ u64 with(u64 total, const u32* at, u32 c, u32) { return total + at[c]; }
    static __device__ __forceinline__ void clear(u32* at, u32 cells) { fill(at, cells, 0u); }
};
struct Sums {
    typedef u32 cell;
    typedef u64 word;
    static __device__ __forceinline__ u64 start() { return 0; }
    static __device__ __forceinline__ u64 with(u64 total, const u32* at, u32 c, u32 cells) {
        return total + ((u64)at[c + cells] << 32 | at[c]);
    }
    static __device__ __forceinline__ void clear(u32* at, u32 cells) { fill(at, 2 * cells, 0u); }
};
struct Reals {
    typedef double cell;
    typedef double word;
    static __device__ __forceinline__ double start() { return 0; }
    static __device__ __forceinline__ double with(double total, const double* at, u32 c, u32) { return total + at[c]; }
    static __device__ __forceinline__ void put(double* at, double x) { atomicAdd(at, x); }
    static __device__ __forceinline__ void clear(double* at, u32 cells) { fill(at, cells, 0.0); }
};
// Few rows change a minimum or maximum: a read precedes the atomic.
template <class T, bool MOST>
struct Extremes {
    typedef T cell;
    typedef i64 word;
    static constexpr T FIRST = (T)(MOST ? (u64)1 << sizeof(T) * 8 - 1 : ~(u64)0 >> 65 - sizeof(T) * 8);
    static __device__ __forceinline__ i64 start() { return MOST ? (i64)((u64)1 << 63) : (i64)(~(u64)0 >> 1); }
    static __device__ __forceinline__ i64 with(i64 total, const T* at, u32 c, u32) {
        const T held = at[c];
        return held == FIRST || (MOST ? held <= total : held >= total) ? total : held;
    }
    static __device__ __forceinline__ void put(T* at, T x) {
        if (MOST ? x > *(volatile T*)at : x < *(volatile T*)at) force(at, x);
    }
    static __device__ __noinline__ void force(T* at, T x) {
        if (MOST) atomicMax(at, x);
        else atomicMin(at, x);
    }
    static __device__ __forceinline__ void clear(T* at, u32 cells) { fill(at, cells, FIRST); }
};
typedef Extremes<int, false> Leasts32;
typedef Extremes<int, true> Mosts32;
typedef Extremes<i64, false> Leasts64;
typedef Extremes<i64, true> Mosts64;

// Transfers a block's cells to global memory: each thread combines the copies of some groups.
template <class Cells, class Op>
__device__ __forceinline__ void gather(const typename Cells::cell* at, u32 slots, u32 copies, u64* words) {
#pragma unroll 1
    for (u32 k = threadIdx.x; k < slots; k += blockDim.x) {
        typename Cells::word total = Cells::start();
#pragma unroll 1
        for (u32 c = k * copies; c < (k + 1) * copies; ++c) total = Cells::with(total, at, c, slots * copies);
        if (total != Cells::start()) Op::put(words + k, total);
    }
}

// Sums of distances from a least value, which are below 2^32. With one half there is no carry: the kernel's blocks have
// so few rows that no cell overflows. With two halves, the thread that makes the lower one wrap adds 1 to the upper one
// after all its rows, so that no row waits for another. The least value times the number of values is added at the end.
template <int HALVES>
struct Distances {
    typedef u32 cell;
    static __device__ __forceinline__ void put(u32* at, u32 distance) { atomicAdd(at, distance); }
    static __device__ __forceinline__ bool wraps(u32* at, u32 distance) { return atomicAdd(at, distance) > ~distance; }
    static __device__ __forceinline__ void clear(u32* at, u32 cells) { fill(at, HALVES * cells, 0u); }
    static __device__ __forceinline__ void gather(
        const u32* at, const u32* counts, i64 low, u32 slots, u32 copies, u64* words) {
#pragma unroll 1
        for (u32 k = threadIdx.x; k < slots; k += blockDim.x) {
            u64 total = 0, count = 0;
#pragma unroll 1
            for (u32 c = k * copies; c < (k + 1) * copies; ++c) {
                total += at[c];
                if (HALVES == 2) total += (u64)at[c + slots * copies] << 32;
                count += counts[c];
            }
            Add::put(words + k, total + count * (u64)low);
        }
    }
};

// Reduces a word over all threads of a block; one of them adds it to global memory. `room` holds one value per warp.
template <class Op>
__device__ __forceinline__ void block_put(u64* at, typename Op::type x, typename Op::type start, u64* room) {
    typedef typename Op::type T;
    T* parts = (T*)room;
#pragma unroll
    for (int k = 16; k; k >>= 1) x = Op::of(x, __shfl_xor_sync(~0u, x, k));
    if ((threadIdx.x & 31) == 0) parts[threadIdx.x >> 5] = x;
    __syncthreads();
    if (threadIdx.x < 32) {
        x = threadIdx.x < blockDim.x >> 5 ? parts[threadIdx.x] : start;
#pragma unroll
        for (int k = 16; k; k >>= 1) x = Op::of(x, __shfl_xor_sync(~0u, x, k));
        if (threadIdx.x == 0) Op::put(at, x);
    }
    __syncthreads();
}

// The active lanes of this warp with the same number.
template <class T>
__device__ __forceinline__ u32 lanes_with(T number) { return __match_any_sync(__activemask(), number); }

// Finds a group's slot for all lanes that share it: one of them probes.
template <int WORDS>
__device__ __forceinline__ i64 group_slot_together(i64* keys, i64 mask, GroupKey<WORDS> key) {
    const u32 here = __activemask();
    u32 same = here;
#pragma unroll
    for (int w = 0; w < WORDS; ++w) same &= __match_any_sync(here, (u64)key.word[w]);
    const u32 leader = __ffs(same) - 1;
    i64 slot = 0;
    if ((threadIdx.x & 31) == leader) slot = group_slot<WORDS>(keys, mask, key);
    return __shfl_sync(same, slot, leader);
}

// The next output index for each active lane.
__device__ __forceinline__ u64 next_place(u64* cursor) {
    const u32 here = __activemask(), lane = threadIdx.x & 31, leader = __ffs(here) - 1;
    u64 first = 0;
    if (lane == leader) first = atomicAdd(cursor, (u64)__popc(here));
    first = __shfl_sync(here, first, leader);
    return first + __popc(here & (1u << lane) - 1);
}
