// Distances of vectors, a warp a row, and of bit strings, eight lanes a row.
//
// A vector is bytes that compare as vectors do: the bits of each float32, or float16, inverted if it is negative, else
// with the sign set, big-endian (gpudb/values/vector_keys.py). A bit string is whole words of 32 bits (gpudb/values/bit_keys.py).
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

__device__ __forceinline__ float decoded(u16 word) {
    const u16 bits = word << 8 | word >> 8;
    const u32 half = (u16)(bits ^ (0x8000u | ~(u32)((short)bits >> 15)));
    // exponent and mantissa in the places of a float's: its exponent counts from 2^-127, that of a half from 2^-15
    const float size = __uint_as_float((half & 0x7fffu) << 13) * 5.192296858534828e33f;
    return half & 0x8000u ? -size : size;
}

template <class T> __device__ __forceinline__ T summed(T value, int lanes) {
    for (lanes /= 2; lanes; lanes /= 2) value += __shfl_xor_sync(0xffffffffu, value, lanes);
    return value;
}

// The bytes of a column's values and where each begins: 32-bit offsets or, if there are none, 64-bit ones.
template <class WORD> struct Vectors {
    const WORD* words;
    const int* small;
    const i64* large;

    __device__ bool is_column() const { return small || large; }
    __device__ const WORD* at(i64 row) const {
        return words + (small ? (i64)small[row] : large[row]) / (i64)sizeof(WORD);
    }
};

__device__ __forceinline__ bool aligned(const void* at) { return !((u64)at & 15); }

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

// `plain` is one vector of floats that are not encoded, for all rows, on a boundary of 16 bytes; or null.
template <int METRIC, class WORD>
__device__ void measure(const Vectors<WORD> left, const Vectors<WORD> right, const float* plain, int dimensions,
                        const u8* valid, i64 rows, double* found) {
    const int TOGETHER = sizeof(uint4) / sizeof(WORD);
    const int lane = threadIdx.x % LANES;
    const i64 warps = (i64)gridDim.x * (BLOCK / LANES);
    for (i64 row = (i64)blockIdx.x * (BLOCK / LANES) + threadIdx.x / LANES; row < rows; row += warps) {
        const bool is_there = !valid || valid[row];
        const WORD* const a = left.at(row);
        const WORD* const b = plain ? nullptr : right.at(row);
        Sums sums = {0, 0, 0};
        int place = lane;
        if (is_there && plain && dimensions % TOGETHER == 0 && aligned(a)) {
            for (int part = lane; part < dimensions / TOGETHER; part += LANES) {
                const uint4 loaded = __ldcs(reinterpret_cast<const uint4*>(a) + part);
                const u32 words[4] = {loaded.x, loaded.y, loaded.z, loaded.w};
                float y[TOGETHER];
#pragma unroll
                for (int i = 0; i < TOGETHER / 4; i++) {
                    const float4 four = __ldg(reinterpret_cast<const float4*>(plain) + TOGETHER / 4 * part + i);
                    y[4 * i] = four.x, y[4 * i + 1] = four.y, y[4 * i + 2] = four.z, y[4 * i + 3] = four.w;
                }
#pragma unroll
                for (int i = 0; i < TOGETHER; i++) {
                    const int in_word = i % (TOGETHER / 4) * 8 * (int)sizeof(WORD);
                    sums.add(METRIC, decoded((WORD)(words[i / (TOGETHER / 4)] >> in_word)), y[i]);
                }
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

template <class WORD>
__device__ void measure_by(int metric, const Vectors<WORD> left, const Vectors<WORD> right, const float* plain,
                           int dimensions, const u8* valid, i64 rows, double* found) {
    switch (metric) {
        case EUCLIDEAN: measure<EUCLIDEAN>(left, right, plain, dimensions, valid, rows, found); break;
        case INNER: measure<INNER>(left, right, plain, dimensions, valid, rows, found); break;
        case NEGATIVE_INNER: measure<NEGATIVE_INNER>(left, right, plain, dimensions, valid, rows, found); break;
        case COSINE: measure<COSINE>(left, right, plain, dimensions, valid, rows, found); break;
        default: measure<TAXICAB>(left, right, plain, dimensions, valid, rows, found);
    }
}

// The right operands are a column or, if `plain` is not null, one vector for all rows. `valid` (null: all) says which
// rows have both operands; others yield 0.
extern "C" __global__ void __launch_bounds__(256) distances(
    const u32* words, const int* small, const i64* large, const u32* other, const int* other_small,
    const i64* other_large, const float* plain, int dimensions, int metric, const u8* valid, i64 rows, double* found) {
    const Vectors<u32> left = {words, small, large}, right = {other, other_small, other_large};
    measure_by(metric, left, right, plain, dimensions, valid, rows, found);
}

// The same of vectors of half precision.
extern "C" __global__ void __launch_bounds__(256) half_distances(
    const u16* words, const int* small, const i64* large, const u16* other, const int* other_small,
    const i64* other_large, const float* plain, int dimensions, int metric, const u8* valid, i64 rows, double* found) {
    const Vectors<u16> left = {words, small, large}, right = {other, other_small, other_large};
    measure_by(metric, left, right, plain, dimensions, valid, rows, found);
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
    const Vectors<u32> left = {words, small, large}, right = {other, other_small, other_large};
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
