// Scores of rows by ensembles of trees, whose arrays gpudb/analytics/trees/ensemble.py describes; `evaluation` beside it
// computes the same with NumPy.
#pragma once
#include "columns.cuh"

#ifndef NAN
#define NAN __longlong_as_double(0x7ff8000000000000LL)
#endif

static const u32 FEATURES = 0xfff, MISSING_LEFT = 1 << 12, CATEGORICAL = 1 << 13, ZERO_MISSING = 1 << 14;
static const int DISTANCE_SHIFT = 15;

// Powers are computed in double precision and rounded once: so all engines have the same ones.
template <class T> __device__ __forceinline__ T transform_identity(T sum) { return sum; }
template <class T> __device__ __forceinline__ T transform_exponential(T sum) { return (T)exp((double)sum); }
template <class T> __device__ __forceinline__ T transform_logistic(T sum) {
    return (T)1 / ((T)1 + transform_exponential(-sum));
}

// A node's content: a float32 below its description, or the word after it.
__device__ __forceinline__ u32 content_bits(const i64*, u64 word, i64, float) { return (u32)word; }
__device__ __forceinline__ u64 content_bits(const i64* nodes, u64, i64 at, double) { return (u64)__ldg(nodes + 2 * at + 1); }
__device__ __forceinline__ float content(u32 bits) { return __uint_as_float(bits); }
__device__ __forceinline__ double content(u64 bits) { return __longlong_as_double((i64)bits); }

template <bool SET_LEFT, class T> __device__ bool is_in_set(const u32* sets, T found, u32 start) {
    // LightGBM drops fractions before it looks at the sign, XGBoost after it
    if (!(SET_LEFT ? found > -1 : found >= 0) || !(found < 16777216)) return false;
    const u32 category = (u32)found;
    return category / 32 < sets[start] && (sets[start + 1 + category / 32] >> category % 32 & 1u);
}

// The bits of the leaf that features reach in the tree of a root. It is called, not inlined, once for each tree: a
// thread has several rows, and all read their features from local memory.
template <class T, bool STRICT, bool SET_LEFT, bool SETS, bool ZEROS>
__device__ __noinline__ auto find_leaf(const i64* nodes, const u32* sets, u32 root, const T* features)
    -> decltype(content_bits(nodes, 0, 0, T())) {
    const int words = sizeof(T) / 4;
    for (u32 at = root;;) {
        const u64 word = (u64)__ldg(nodes + words * at);
        const u32 head = (u32)(word >> 32);
        const auto bits = content_bits(nodes, word, at, T());
        const u32 distance = head >> DISTANCE_SHIFT;
        if (!distance) return bits;
        const T found = features[head & FEATURES], limit = content(bits);
        // NaN, which is missing, is in no comparison: so one of the two tests says where it goes
        const bool below = STRICT ? found < limit : found <= limit, above = STRICT ? found >= limit : found > limit;
        bool left = head & MISSING_LEFT ? !above : below;
        if (SETS && head & CATEGORICAL) {
            const bool is_in = is_in_set<SET_LEFT>(sets, found, (u32)bits);
            left = found != found ? head & MISSING_LEFT : is_in == SET_LEFT;
        }
        if (ZEROS && head & ZERO_MISSING && found >= (T)-1e-35 && found <= (T)1e-35) left = head & MISSING_LEFT;
        at += distance + !left;
    }
}

template <class T, bool STRICT, bool SET_LEFT, bool SETS, bool ZEROS, bool VECTORS, int CLASSES> struct Trees {
    const i64* nodes;
    const u32* roots;
    const u32* sets;
    const i64* values;

    __device__ __forceinline__ T start(int number) const { return (T)__longlong_as_double(__ldg(values + number)); }
    __device__ __forceinline__ T divided(T sum) const {
        const T divisor = start(CLASSES);
        return divisor == 1 ? sum : sum / divisor;
    }
    __device__ __forceinline__ auto leaf(const T* features, u32 tree) const {
        return find_leaf<T, STRICT, SET_LEFT, SETS, ZEROS>(nodes, sets, __ldg(roots + CLASSES + 1 + tree), features);
    }
    __device__ __forceinline__ T sum_class(const T* features, int number) const {
        T sum = start(number);
        for (u32 tree = roots[number]; tree < roots[number + 1]; ++tree)
            sum += content(leaf(features, tree));
        return divided(sum);
    }

    // The sum of the only class, after a transform.
    template <class F> __device__ __forceinline__ double sum(const T* features, F transform) const {
        return (double)transform(sum_class(features, 0));
    }

    // The class with the greatest sum, the first of equal ones; of one class, whether its value is over a half.
    template <class F> __device__ __forceinline__ int label(const T* features, F transform) const {
        if (CLASSES == 1) return transform(sum_class(features, 0)) > (T)0.5;
        T sums[CLASSES];
        for (int each = 0; each < CLASSES; ++each) sums[each] = VECTORS ? start(each) : sum_class(features, each);
        if (VECTORS) {
            for (u32 tree = roots[0]; tree < roots[1]; ++tree) {
                const i64* const found = values + leaf(features, tree);
                for (int each = 0; each < CLASSES; ++each) sums[each] += (T)__longlong_as_double(__ldg(found + each));
            }
        }
        int best = 0;
        for (int each = 1; each < CLASSES; ++each)
            if (sums[each] > sums[best]) best = each;
        return best;
    }
};
