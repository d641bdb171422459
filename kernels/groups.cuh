// Groups' words: sums, least and greatest values; in registers, shared memory, or the GPU's memory.
#pragma once
#include "lookup.cuh"

// A 64-bit sum in shared memory by two 32-bit atomics, which the hardware has; the second one is rare for small values.
__device__ __forceinline__ void shared_add(u32* low, u32* high, i64 value) {
    const u32 part = (u32)value;
    const u32 before = atomicAdd(low, part);
    const u32 rest = (u32)((u64)value >> 32) + (before + part < part);
    if (rest) atomicAdd(high, rest);
}

// The slot of a group in a hash table, made if it is new; -1 where the table is too full.
__device__ __forceinline__ i64 group_slot(i64* keys, i64 mask, i64 key) {
    i64 place = (i64)(mixed((u64)key) & (u64)mask);
    for (int tries = 0; tries < 256; ++tries) {
        i64 held = *(volatile i64*)(keys + place);
        if (held == -1) held = (i64)atomicCAS((u64*)(keys + place), ~0ull, (u64)key);
        if (held == -1 || held == key) return place;
        place = place + 1 & mask;
    }
    return -1;
}

// Each way to accumulate: of two values, into the GPU's memory, and there for all lanes of a warp that have one slot
// (`same`): one atomic for them, so that a slot which nearly all rows have is no bottleneck.
struct Add {
    typedef u64 type;
    static __device__ __forceinline__ u64 of(u64 a, u64 b) { return a + b; }
    static __device__ __forceinline__ void put(u64* at, u64 x) { if (x) atomicAdd(at, x); }
    static __device__ __forceinline__ void together(u64* at, u64 x, u32 same) {
        if (same & same - 1) {
            // The hardware adds 32 bits: 16 of 32 lanes' values do not overflow, the upper ones wrap as they should.
            const u64 low = __reduce_add_sync(same, (u32)x & 0xFFFF);
            const u64 middle = __reduce_add_sync(same, (u32)(x >> 16) & 0xFFFF);
            const u64 high = __reduce_add_sync(same, (u32)(x >> 32));
            x = low + (middle << 16) + (high << 32);
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
            double sum = 0;
            for (u32 left = same; left; left &= left - 1) sum += __shfl_sync(same, x, __ffs(left) - 1);
            if ((threadIdx.x & 31) != __ffs(same) - 1) return;
            x = sum;
        }
        put(at, x);
    }
};

// One word of all threads of a block, added to the GPU's memory by one of them. `room` holds a value a warp.
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

// The lanes of this warp that are here with one number.
template <class T>
__device__ __forceinline__ u32 lanes_with(T number) { return __match_any_sync(__activemask(), number); }

// A group's slot for all lanes that have it: one of them looks.
__device__ __forceinline__ i64 group_slot_together(i64* keys, i64 mask, i64 key) {
    const u32 same = lanes_with((u64)key), leader = __ffs(same) - 1;
    i64 slot = 0;
    if ((threadIdx.x & 31) == leader) slot = group_slot(keys, mask, key);
    return __shfl_sync(same, slot, leader);
}

// A place in an output for each lane that is here.
__device__ __forceinline__ u64 next_place(u64* cursor) {
    const u32 here = __activemask(), lane = threadIdx.x & 31, leader = __ffs(here) - 1;
    u64 first = 0;
    if (lane == leader) first = atomicAdd(cursor, (u64)__popc(here));
    first = __shfl_sync(here, first, leader);
    return first + __popc(here & (1u << lane) - 1);
}
