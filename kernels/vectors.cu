// Distances of vectors, a warp a row.
//
// A vector is bytes that compare as vectors do: the bits of each float32, inverted if it is negative, else with the sign
// set, big-endian (gpudb/values/vector_keys.py). gpudb/engine/gpu/backend/distance_calls.py computes the same with NumPy.
#include "columns.cuh"

static const int BLOCK = 256, LANES = 32;

enum Metric { EUCLIDEAN, INNER, NEGATIVE_INNER, COSINE, TAXICAB };

__device__ __forceinline__ float decoded(u32 word) {
    const u32 bits = word << 24 | (word & 0xff00u) << 8 | (word >> 8 & 0xff00u) | word >> 24;
    return __uint_as_float(bits >> 31 ? bits ^ 0x80000000u : ~bits);
}

__device__ __forceinline__ double summed(double value) {
    for (int lanes = LANES / 2; lanes; lanes /= 2) value += __shfl_xor_sync(0xffffffffu, value, lanes);
    return value;
}

// The bytes of a column's vectors and where each begins: 32-bit offsets or, if there are none, 64-bit ones.
struct Vectors {
    const u32* words;
    const int* small;
    const i64* large;

    __device__ const u32* at(i64 row) const { return words + (small ? (i64)small[row] : large[row]) / 4; }
};

// `other` are the right operands; without offsets it is one vector for all rows. `valid` (null: all) says which rows
// have both operands; others yield 0.
extern "C" __global__ void __launch_bounds__(256) distances(
    const u32* words, const int* small, const i64* large, const u32* other, const int* other_small,
    const i64* other_large, int dimensions, int metric, const u8* valid, i64 rows, double* found) {
    const Vectors left = {words, small, large}, right = {other, other_small, other_large};
    const int lane = threadIdx.x % LANES;
    const i64 warps = (i64)gridDim.x * (BLOCK / LANES);
    for (i64 row = (i64)blockIdx.x * (BLOCK / LANES) + threadIdx.x / LANES; row < rows; row += warps) {
        const bool is_there = !valid || valid[row];
        const u32* const a = left.at(row);
        const u32* const b = other_small || other_large ? right.at(row) : other;
        double total = 0, of_left = 0, of_right = 0;
        for (int place = lane; is_there && place < dimensions; place += LANES) {
            const float x = decoded(__ldg(a + place)), y = decoded(__ldg(b + place));
            if (metric == EUCLIDEAN) {
                const double difference = (double)x - y;
                total += difference * difference;
            } else if (metric == TAXICAB) {
                const float difference = x - y;
                total += difference < 0 ? -difference : difference;
            } else {
                total += (double)x * y;
            }
            if (metric == COSINE) {
                of_left += (double)x * x;
                of_right += (double)y * y;
            }
        }
        total = summed(total);
        if (metric == COSINE) {
            const double cosine = total / sqrt(summed(of_left) * summed(of_right));
            total = 1 - (cosine > 1 ? 1 : cosine < -1 ? -1 : cosine);
        }
        if (metric == EUCLIDEAN) total = sqrt(total);
        if (!lane) found[row] = metric == NEGATIVE_INNER ? -total : total;
    }
}
