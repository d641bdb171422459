// Exact arithmetic on columns of numerics (see exact.cuh), a row a thread.
//
// An operand is a column of 128-bit integers, a result has `carried` decimals. `found` says which rows have a result;
// others yield 0. The first word of `flags` has the bit 1 if a value has more than 38 digits, the bit 2 if decimals are
// lost; the word at `place` counts rows without a result.
#include "exact.cuh"

using namespace exact;

static const int BLOCK = 256;

struct Results {
    i128* values;
    signed char* scales;
    u8* found;
    u32* flags;
    int place;

    __device__ void put(i64 row, bool is_there, const Numeric& made) const {
        values[row] = made.value;
        scales[row] = (signed char)made.shown;
        found[row] = is_there;
        if (made.overflow || made.lost) atomicOr(flags, (made.overflow ? 1u : 0u) | (made.lost ? 2u : 0u));
        if (!is_there) atomicAdd(flags + place, 1u);
    }
};

// `shown` are the operands' greater display scales; `valid` (null: all) says which rows have both operands.
extern "C" __global__ void __launch_bounds__(256) quotients(
    const i128* a, int a_scale, const i128* b, int b_scale, const int* shown, int carried, const u8* valid, i64 rows,
    i128* values, signed char* scales, u8* found, u32* flags, int place) {
    const Results results = {values, scales, found, flags, place};
    for (i64 row = (i64)blockIdx.x * BLOCK + threadIdx.x; row < rows; row += (i64)gridDim.x * BLOCK) {
        const bool is_there = (!valid || valid[row]) && b[row];
        Numeric made = {0, 0, false, false};
        if (is_there) made = quotient(a[row], a_scale, b[row], b_scale, shown[row], carried);
        results.put(row, is_there, made);
    }
}

// `high` (null: 0) × 2⁶⁴ adds to the sums of squares.
extern "C" __global__ void __launch_bounds__(256) deviations(
    const i64* counts, const i128* totals, const i128* squares, const i128* high, int scale, int sample, int root,
    int carried, i64 rows, i128* values, signed char* scales, u8* found, u32* flags, int place) {
    const Results results = {values, scales, found, flags, place};
    for (i64 row = (i64)blockIdx.x * BLOCK + threadIdx.x; row < rows; row += (i64)gridDim.x * BLOCK) {
        const bool is_there = counts[row] > (sample ? 1 : 0);
        Numeric made = {0, 0, false, false};
        if (is_there) {
            const u128 above = high ? (u128)high[row] : 0;
            made = deviation(counts[row], totals[row], (u128)squares[row], above, scale, sample, root, carried);
        }
        results.put(row, is_there, made);
    }
}

extern "C" __global__ void __launch_bounds__(256) co_moments(
    const i64* counts, const i128* x, const i128* y, const i128* products, i64 rows, double* values, u8* found,
    u32* flags, int place) {
    for (i64 row = (i64)blockIdx.x * BLOCK + threadIdx.x; row < rows; row += (i64)gridDim.x * BLOCK) {
        values[row] = co_moment(counts[row], x[row], y[row], products[row]);
        found[row] = counts[row] > 0;
        if (counts[row] <= 0) atomicAdd(flags + place, 1u);
    }
}
