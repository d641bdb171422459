// Distances of vectors, a warp a row, and of bit strings, eight lanes a row.
//
// A vector is bytes that compare as vectors do: the bits of each float32, inverted if it is negative, else with the sign
// set, big-endian (gpudb/values/vector_keys.py). A bit string is whole words of 32 bits (gpudb/values/bit_keys.py).
// gpudb/engine/gpu/backend/distance_calls.py computes the same with NumPy.
#include "columns.cuh"

static const int BLOCK = 256, LANES = 32;
// Lanes of a row of bits: each loads 128 bits at once, all of them the 1,024 of a usual fingerprint.
static const int BIT_LANES = 8;

enum Metric { EUCLIDEAN, INNER, NEGATIVE_INNER, COSINE, TAXICAB };
enum BitMetric { HAMMING, JACCARD, SIMILARITY };

__device__ __forceinline__ float decoded(u32 word) {
    const u32 bits = word << 24 | (word & 0xff00u) << 8 | (word >> 8 & 0xff00u) | word >> 24;
    // a positive number has its sign set, of a negative one all bits are inverted
    return __uint_as_float(bits ^ (0x80000000u | ~(u32)((int)bits >> 31)));
}

template <class T> __device__ __forceinline__ T summed(T value, int lanes) {
    for (lanes /= 2; lanes; lanes /= 2) value += __shfl_xor_sync(0xffffffffu, value, lanes);
    return value;
}

// The bytes of a column's values and where each begins: 32-bit offsets or, if there are none, 64-bit ones.
struct Vectors {
    const u32* words;
    const int* small;
    const i64* large;

    __device__ bool is_column() const { return small || large; }
    __device__ const u32* at(i64 row) const { return words + (small ? (i64)small[row] : large[row]) / 4; }
};

__device__ __forceinline__ bool aligned(const u32* at) { return !((u64)at & 15); }

// Sums of one row over the lanes of a warp.
struct Sums {
    double total, of_left, of_right;

    __device__ __forceinline__ void add(int metric, float x, float y) {
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
};

// `plain` is one vector of floats that are not encoded, for all rows, or null.
template <int METRIC>
__device__ void measure(const Vectors left, const Vectors right, const float* plain, int dimensions, const u8* valid,
                        i64 rows, double* found) {
    const int lane = threadIdx.x % LANES;
    const i64 warps = (i64)gridDim.x * (BLOCK / LANES);
    for (i64 row = (i64)blockIdx.x * (BLOCK / LANES) + threadIdx.x / LANES; row < rows; row += warps) {
        const bool is_there = !valid || valid[row];
        const u32* const a = left.at(row);
        const u32* const b = plain ? nullptr : right.at(row);
        Sums sums = {0, 0, 0};
        int place = lane;
        if (is_there && plain && dimensions % 4 == 0 && aligned(a)) {
            for (int four = lane; four < dimensions / 4; four += LANES) {
                const uint4 words = __ldcs(reinterpret_cast<const uint4*>(a) + four);
                const float* const y = plain + 4 * four;
                sums.add(METRIC, decoded(words.x), __ldg(y));
                sums.add(METRIC, decoded(words.y), __ldg(y + 1));
                sums.add(METRIC, decoded(words.z), __ldg(y + 2));
                sums.add(METRIC, decoded(words.w), __ldg(y + 3));
            }
            place = dimensions;
        }
        for (; is_there && place < dimensions; place += LANES)
            sums.add(METRIC, decoded(__ldg(a + place)), plain ? __ldg(plain + place) : decoded(__ldg(b + place)));
        double total = summed(sums.total, LANES);
        if (METRIC == COSINE) {
            const double cosine = total / sqrt(summed(sums.of_left, LANES) * summed(sums.of_right, LANES));
            total = 1 - (cosine > 1 ? 1 : cosine < -1 ? -1 : cosine);
        }
        if (METRIC == EUCLIDEAN) total = sqrt(total);
        if (!lane) found[row] = METRIC == NEGATIVE_INNER ? -total : total;
    }
}

// The right operands are a column or, if `plain` is not null, one vector for all rows. `valid` (null: all) says which
// rows have both operands; others yield 0.
extern "C" __global__ void __launch_bounds__(256) distances(
    const u32* words, const int* small, const i64* large, const u32* other, const int* other_small,
    const i64* other_large, const float* plain, int dimensions, int metric, const u8* valid, i64 rows, double* found) {
    const Vectors left = {words, small, large}, right = {other, other_small, other_large};
    switch (metric) {
        case EUCLIDEAN: measure<EUCLIDEAN>(left, right, plain, dimensions, valid, rows, found); break;
        case INNER: measure<INNER>(left, right, plain, dimensions, valid, rows, found); break;
        case NEGATIVE_INNER: measure<NEGATIVE_INNER>(left, right, plain, dimensions, valid, rows, found); break;
        case COSINE: measure<COSINE>(left, right, plain, dimensions, valid, rows, found); break;
        default: measure<TAXICAB>(left, right, plain, dimensions, valid, rows, found);
    }
}

// Bits that two words have in common, and those of either of them.
struct Counts {
    u32 common, either;

    __device__ __forceinline__ void add(u32 a, u32 b) {
        common += __popc(a & b);
        either += __popc(a | b);
    }
};

// The same of bit strings of `length` words: without offsets `other` is one bit string for all rows.
extern "C" __global__ void __launch_bounds__(256) bit_distances(
    const u32* words, const int* small, const i64* large, const u32* other, const int* other_small,
    const i64* other_large, int length, int metric, const u8* valid, i64 rows, double* found) {
    const Vectors left = {words, small, large}, right = {other, other_small, other_large};
    const int lane = threadIdx.x % BIT_LANES;
    const i64 step = (i64)gridDim.x * (BLOCK / BIT_LANES);
    const i64 begin = (i64)blockIdx.x * (BLOCK / BIT_LANES) + threadIdx.x / BIT_LANES;
    // All lanes of a warp go on together, since they exchange their sums.
    const i64 first = begin - begin % (LANES / BIT_LANES);
    for (i64 at = begin, of_warp = first; of_warp < rows; at += step, of_warp += step) {
        Counts counts = {0, 0};
        if (at < rows && (!valid || valid[at])) {
            const u32* const a = left.at(at);
            const u32* const b = right.is_column() ? right.at(at) : other;
            int place = lane;
            if (length % 4 == 0 && aligned(a) && aligned(b)) {
                for (int four = lane; four < length / 4; four += BIT_LANES) {
                    const uint4 x = __ldcs(reinterpret_cast<const uint4*>(a) + four);
                    const uint4 y = __ldg(reinterpret_cast<const uint4*>(b) + four);
                    counts.add(x.x, y.x), counts.add(x.y, y.y), counts.add(x.z, y.z), counts.add(x.w, y.w);
                }
                place = length;
            }
            for (; place < length; place += BIT_LANES) counts.add(__ldg(a + place), __ldg(b + place));
        }
        const u32 common = summed(counts.common, BIT_LANES), either = summed(counts.either, BIT_LANES);
        if (lane || at >= rows) continue;
        const double similarity = common ? common / (double)either : 0;
        found[at] = metric == HAMMING ? either - common : metric == JACCARD ? 1 - similarity : similarity;
    }
}
