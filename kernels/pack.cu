// Packs decoded columns: `survey_` finds each zone's value range, `steps_` the common units, `pack_` writes the packed
// values, `repack` converts a part's packed values to the encoding of the whole, `bits` copies validity bits.
//
// A value is valid if its bit of `mask` is set, where the first row has bit `skip`; without a mask all are. `found`
// begins with a word of flags: bit u is set if not all values are whole numbers of UNITS[u] from their base, bit WIDE
// if a value needs more than 64 bits. Each zone's least value follows and, `zones` words later, its greatest.
#include "columns.cuh"

static const int BLOCK = 256, TURNS = 64, ZONE_BITS = 20, COUNT = 7, WIDE = 8;
static const u64 DAY = 86400000000ull;

__device__ __forceinline__ bool is_there(const u8* mask, i64 bit) { return !mask || mask[bit >> 3] >> (bit & 7) & 1; }

__device__ __forceinline__ i64 least(i64 x) {
#pragma unroll
    for (int lanes = 16; lanes; lanes >>= 1) x = min(x, __shfl_xor_sync(~0u, x, lanes));
    return x;
}
__device__ __forceinline__ i64 greatest(i64 x) { return ~least(~x); }

__device__ __forceinline__ u64 together(u64 x) {
#pragma unroll
    for (int lanes = 16; lanes; lanes >>= 1) x |= __shfl_xor_sync(~0u, x, lanes);
    return x;
}

// A block reads BLOCK * TURNS rows, all of one zone.
template <class T>
__device__ __forceinline__ void survey(const T* values, const u8* mask, i64 skip, i64 rows, i64* found, i64 zones) {
    const i64 start = (i64)blockIdx.x * BLOCK * TURNS;
    i64 low = 0x7fffffffffffffffll, high = ~low;
    bool wide = false;
#pragma unroll 1
    for (int turn = 0; turn < TURNS; turn += 8) {
        // All loads come first, so that they overlap.
        T value[8];
        bool there[8];
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            const i64 row = start + (turn + k) * BLOCK + threadIdx.x;
            there[k] = row < rows && is_there(mask, skip + row);
            value[k] = there[k] ? values[row] : T(0);
        }
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            if (!there[k]) continue;
            low = min(low, (i64)value[k]), high = max(high, (i64)value[k]);
            if (sizeof(T) > 8) wide |= (T)(i64)value[k] != value[k];
        }
    }
    low = least(low), high = greatest(high);
    if (together(wide) && !(threadIdx.x & 31)) atomicOr((u64*)found, 1ull << WIDE);
    if (threadIdx.x & 31 || low > high) return;
    i64* zone = found + 1 + (start >> ZONE_BITS);
    atomicMin(zone, low), atomicMax(zone + zones, high);
}

// Whether values are whole numbers of units from a midnight or, for the shorter units, from the least value.
template <int U>
__device__ __forceinline__ void step(i64 value, u64 above, u32& off) {
    constexpr u64 UNITS[] = {DAY, 3600000000ull, 60000000ull, 1000000ull, 1000ull, 100ull, 10ull};
    constexpr u64 unit = UNITS[U];
    if (!(off >> U & 1) && (unit >= 1000000 ? value % (i64)unit != 0 : above % unit != 0)) off |= 1u << U;
}

template <class T>
__device__ __forceinline__ void steps(const T* values, const u8* mask, i64 skip, i64 rows, i64* found, i64 zones) {
    i64 low = 0x7fffffffffffffffll;
    for (i64 zone = threadIdx.x & 31; zone < zones; zone += 32) low = min(low, found[1 + zone]);
    low = least(low);
    const u32 all = (1u << COUNT) - 1;
    const u32 before = (u32)*(volatile i64*)found & all;
    u32 off = before;
    const i64 start = (i64)blockIdx.x * BLOCK * TURNS;
#pragma unroll 1
    for (int turn = 0; turn < TURNS && off != all; ++turn) {
        const i64 row = start + turn * BLOCK + threadIdx.x;
        if (row >= rows || !is_there(mask, skip + row)) continue;
        const i64 value = (i64)values[row];
        const u64 above = (u64)value - (u64)low;
        step<0>(value, above, off), step<1>(value, above, off), step<2>(value, above, off), step<3>(value, above, off);
        step<4>(value, above, off), step<5>(value, above, off), step<6>(value, above, off);
    }
    off = (u32)together(off);
    if (!(threadIdx.x & 31) && off != before) atomicOr((u64*)found, (u64)off);
}

__device__ __forceinline__ void put(u8* to, i64 row, int width, u64 stored) {
    switch (width) {
        case 1: to[row] = (u8)stored; break;
        case 2: reinterpret_cast<u16*>(to)[row] = (u16)stored; break;
        case 3: to[3 * row] = (u8)stored, to[3 * row + 1] = (u8)(stored >> 8), to[3 * row + 2] = (u8)(stored >> 16); break;
        case 4: reinterpret_cast<u32*>(to)[row] = (u32)stored; break;
        default: reinterpret_cast<u64*>(to)[row] = stored;
    }
}

__device__ __forceinline__ u64 got(const u8* from, i64 row, int width) {
    switch (width) {
        case 1: return from[row];
        case 2: return reinterpret_cast<const u16*>(from)[row];
        case 3: return from[3 * row] | from[3 * row + 1] << 8 | from[3 * row + 2] << 16;
        case 4: return reinterpret_cast<const u32*>(from)[row];
        default: return reinterpret_cast<const u64*>(from)[row];
    }
}

// A thread writes one of `padded` rows; NULLs, and padding beyond the rows, are 0.
template <class T>
__device__ __forceinline__ void pack(const T* values, const u8* mask, i64 skip, i64 rows, i64 padded, i64 base,
                                     u64 unit, int width, u8* to) {
    const i64 row = (i64)blockIdx.x * BLOCK + threadIdx.x;
    if (row >= padded) return;
    u64 stored = row < rows && is_there(mask, skip + row) ? (u64)(i64)values[row] - (u64)base : 0;
    if (unit > 1) stored /= unit;
    put(to, row, width, stored);
}

#define OF(T)                                                                                                         \
    extern "C" __global__ void __launch_bounds__(256) survey_##T(                                                     \
        const T* values, const u8* mask, i64 skip, i64 rows, i64* found, i64 zones) {                                 \
        survey(values, mask, skip, rows, found, zones);                                                               \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(256) steps_##T(                                                      \
        const T* values, const u8* mask, i64 skip, i64 rows, i64* found, i64 zones) {                                 \
        steps(values, mask, skip, rows, found, zones);                                                                \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(256) pack_##T(                                                       \
        const T* values, const u8* mask, i64 skip, i64 rows, i64 padded, i64 base, u64 unit, int width, u8* to) {     \
        pack(values, mask, skip, rows, padded, base, unit, width, to);                                                \
    }

typedef signed char i8;
typedef short i16;
typedef int i32;

// Writes a part's packed rows into the whole, where its first is row `start`. `bits` is the part's validity.
extern "C" __global__ void __launch_bounds__(256) repack(
    const u8* from, const u8* bits, i64 rows, int from_width, i64 from_base, u64 from_unit,
    u8* to, i64 start, int width, i64 base, u64 unit) {
    const i64 row = (i64)blockIdx.x * BLOCK + threadIdx.x;
    if (row >= rows) return;
    u64 stored = 0;
    if (is_there(bits, row)) {
        stored = (u64)from_base + from_unit * got(from, row, from_width) - (u64)base;
        if (unit > 1) stored /= unit;
    }
    put(to, start + row, width, stored);
}

// Copies validity bits from bit `skip` of a mask to bit `start` of `to`, which is zeroed; a thread writes one word.
extern "C" __global__ void __launch_bounds__(256) bits(const u8* mask, i64 skip, i64 rows, u32* to, i64 start) {
    const i64 word = (start >> 5) + (i64)blockIdx.x * BLOCK + threadIdx.x;
    if (32 * word >= start + rows) return;
    u32 made = 0;
    for (int bit = 0; bit < 32; ++bit) {
        const i64 row = 32 * word + bit - start;
        if (row >= 0 && row < rows && is_there(mask, skip + row)) made |= 1u << bit;
    }
    if (made) atomicOr(to + word, made);
}
