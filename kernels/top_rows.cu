// The first rows by a column of doubles: the least value of each run of rows, a warp a run, and the rows up to a value.
//
// NULL and NaN are after all numbers; in a descending order, in which values count as negative ones, NaN comes first.
// gpudb/engine/gpu/cudf/algorithms/top_rows.py searches by them.
#include "columns.cuh"

static const int BLOCK = 256, LANES = 32;

// What a row sorts by. `valid` is null if no row is NULL.
__device__ __forceinline__ double ranked(const double* values, const u8* valid, i64 row, int descending) {
    const double value = __ldg(values + row);
    if (valid && !valid[row]) return __longlong_as_double(0x7ff0000000000000LL);
    if (value != value) return descending ? value : __longlong_as_double(0x7ff0000000000000LL);
    return descending ? -value : value;
}

// The least of each `size` rows, or NaN if one comes first.
extern "C" __global__ void __launch_bounds__(256) least(const double* values, const u8* valid, i64 rows, int size,
                                                        int descending, double* found) {
    const int lane = threadIdx.x % LANES;
    const i64 runs = (rows + size - 1) / size, warps = (i64)gridDim.x * (BLOCK / LANES);
    for (i64 run = (i64)blockIdx.x * (BLOCK / LANES) + threadIdx.x / LANES; run < runs; run += warps) {
        const i64 end = min((run + 1) * size, rows);
        double mine = __longlong_as_double(0x7ff0000000000000LL);
        for (i64 row = run * size + lane; row < end; row += LANES) {
            const double value = ranked(values, valid, row, descending);
            mine = value < mine || value != value ? value : mine;
        }
        for (int lanes = LANES / 2; lanes; lanes /= 2) {
            const double other = __shfl_xor_sync(0xffffffffu, mine, lanes);
            mine = other < mine || other != other ? other : mine;
        }
        if (!lane) found[run] = mine;
    }
}

// The numbers of the rows up to `end`, in any order, after how many there are; at most `capacity` are written.
extern "C" __global__ void __launch_bounds__(256) up_to(const double* values, const u8* valid, i64 rows,
                                                        int descending, double end, u32* places, u32 capacity) {
    for (i64 row = (i64)blockIdx.x * BLOCK + threadIdx.x; row < rows; row += (i64)gridDim.x * BLOCK) {
        if (!(ranked(values, valid, row, descending) <= end)) continue;
        const u32 at = atomicAdd(places, 1u);
        if (at < capacity) places[1 + at] = (u32)row;
    }
}
