// Exact arithmetic on numerics with up to 320 bits inside: PostgreSQL's quotients, roots, variances and co-moments.
//
// gpudb/exact computes the same with NumPy. A numeric is an unscaled integer of at most 38 digits; `scale` is its number
// of decimals. Results have `carried` decimals and a display scale, the number of decimals that PostgreSQL shows.
#pragma once
#include "columns.cuh"

namespace exact {

typedef unsigned __int128 u128;

static const int LIMBS = 11, MAX_DIGITS = 38, SIGNIFICANT = 16, MOST_SHOWN = 20;

// An unsigned integer: limbs of 32 bits, the least significant first, without leading zeros.
struct Wide {
    u32 limb[LIMBS];
    int size;
};

// A value of more than 38 digits overflows. Of a value that is shown with more decimals than it has, decimals are lost,
// unless they are zeros.
struct Numeric {
    i128 value;
    int shown;
    bool overflow, lost;
};

__device__ inline u128 magnitude(i128 x) { return x < 0 ? -(u128)x : (u128)x; }

// 10 to a power from 0 to 38.
__device__ __noinline__ u128 ten(int power) {
    u128 result = power & 1 ? 10 : 1;
    if (power & 2) result *= 100;
    if (power & 4) result *= 10000;
    if (power & 8) result *= 100000000;
    if (power & 16) result *= 10000000000000000ull;
    if (power & 32) result *= (u128)10000000000000000ull * 10000000000000000ull;
    return result;
}

__device__ inline int bits_of(u64 x) { return x ? 64 - __clzll((long long)x) : 0; }
__device__ inline int bits_of(u128 x) { return x >> 64 ? 64 + bits_of((u64)(x >> 64)) : bits_of((u64)x); }

__device__ inline Wide widen(u128 x) {
    Wide made;
    made.size = 0;
    for (; x; x >>= 32) made.limb[made.size++] = (u32)x;
    return made;
}

// The lowest 128 bits.
__device__ inline u128 narrow(const Wide& x) {
    u128 made = 0;
    for (int k = min(x.size, 4) - 1; k >= 0; --k) made = made << 32 | x.limb[k];
    return made;
}

__device__ inline int bits_of(const Wide& x) {
    return x.size ? 32 * (x.size - 1) + bits_of((u64)x.limb[x.size - 1]) : 0;
}

__device__ __noinline__ int compare(const Wide& a, const Wide& b) {
    if (a.size != b.size) return a.size < b.size ? -1 : 1;
    for (int k = a.size - 1; k >= 0; --k)
        if (a.limb[k] != b.limb[k]) return a.limb[k] < b.limb[k] ? -1 : 1;
    return 0;
}

__device__ inline Wide trimmed(Wide x) {
    while (x.size && !x.limb[x.size - 1]) --x.size;
    return x;
}

__device__ __noinline__ Wide add(const Wide& a, const Wide& b) {
    Wide made;
    u64 carry = 0;
    made.size = max(a.size, b.size);
    for (int k = 0; k < made.size; ++k) {
        carry += (u64)(k < a.size ? a.limb[k] : 0) + (k < b.size ? b.limb[k] : 0);
        made.limb[k] = (u32)carry;
        carry >>= 32;
    }
    if (carry && made.size < LIMBS) made.limb[made.size++] = (u32)carry;
    return made;
}

// a - b, for a of at least b.
__device__ __noinline__ Wide subtract(const Wide& a, const Wide& b) {
    Wide made = a;
    u64 borrow = 0;
    for (int k = 0; k < a.size; ++k) {
        const u64 rest = (u64)a.limb[k] - (k < b.size ? b.limb[k] : 0) - borrow;
        made.limb[k] = (u32)rest;
        borrow = rest >> 63;
    }
    return trimmed(made);
}

__device__ __noinline__ Wide multiply(const Wide& a, const Wide& b) {
    Wide made;
    made.size = min(a.size + b.size, LIMBS);
    for (int k = 0; k < made.size; ++k) made.limb[k] = 0;
    for (int i = 0; i < a.size; ++i) {
        u64 carry = 0;
        for (int j = 0; j < b.size && i + j < LIMBS; ++j) {
            carry += (u64)a.limb[i] * b.limb[j] + made.limb[i + j];
            made.limb[i + j] = (u32)carry;
            carry >>= 32;
        }
        if (i + b.size < LIMBS) made.limb[i + b.size] = (u32)carry;
    }
    return trimmed(made);
}

// 10 to a power from 0 to 76.
__device__ __noinline__ Wide wide_ten(int power) {
    return power <= MAX_DIGITS ? widen(ten(power)) : multiply(widen(ten(MAX_DIGITS)), widen(ten(power - MAX_DIGITS)));
}

__device__ __noinline__ Wide scaled(const Wide& x, int power) { return power ? multiply(x, wide_ten(power)) : x; }

// x * 2 to the power of 32 * words, of at most LIMBS words.
__device__ inline Wide shifted_words(const Wide& x, int words) {
    Wide made;
    made.size = x.size + words;
    for (int k = 0; k < made.size; ++k) made.limb[k] = k < words ? 0 : x.limb[k - words];
    return made;
}

__device__ __noinline__ Wide shifted_left(const Wide& x, int bits) {
    Wide made;
    u32 below = 0;
    made.size = x.size;
    for (int k = 0; k < x.size; ++k) {
        made.limb[k] = x.limb[k] << bits | below;
        below = bits ? x.limb[k] >> (32 - bits) : 0;
    }
    if (below && made.size < LIMBS) made.limb[made.size++] = below;
    return made;
}

__device__ __noinline__ Wide shifted_right(const Wide& x, int bits) {
    Wide made = x;
    for (int k = 0; k < x.size; ++k) {
        const u32 above = bits && k + 1 < x.size ? x.limb[k + 1] << (32 - bits) : 0;
        made.limb[k] = x.limb[k] >> bits | above;
    }
    return trimmed(made);
}

// The quotient and, in `rest`, the remainder; b is not 0. A digit that is estimated from two limbs is at most 2 too
// large (Knuth's algorithm D).
__device__ __noinline__ Wide divide(const Wide& a, const Wide& b, Wide& rest) {
    Wide made;
    if (compare(a, b) < 0) {
        rest = a;
        made.size = 0;
        return made;
    }
    if (b.size == 1) {
        u64 left = 0;
        made.size = a.size;
        for (int k = a.size - 1; k >= 0; --k) {
            left = left << 32 | a.limb[k];
            made.limb[k] = (u32)(left / b.limb[0]);
            left %= b.limb[0];
        }
        rest = widen(left);
        return trimmed(made);
    }
    const int shift = 31 - (bits_of((u64)b.limb[b.size - 1]) - 1), n = b.size;
    const Wide v = shifted_left(b, shift);
    Wide u = shifted_left(a, shift);
    const int m = a.size - n;
    if (u.size == a.size && u.size < LIMBS) u.limb[u.size++] = 0;
    made.size = m + 1;
    for (int j = m; j >= 0; --j) {
        const u64 current = (u64)u.limb[j + n] << 32 | u.limb[j + n - 1];
        u64 digit = current / v.limb[n - 1];
        if (digit > 0xffffffffull) digit = 0xffffffffull;
        u64 left = current - digit * v.limb[n - 1];
        while (left >> 32 == 0 && digit * v.limb[n - 2] > (left << 32 | u.limb[j + n - 2])) {
            --digit;
            left += v.limb[n - 1];
        }
        u64 carry = 0, borrow = 0;
        for (int k = 0; k < n; ++k) {
            carry += digit * v.limb[k];
            const u64 less = (u64)u.limb[j + k] - (u32)carry - borrow;
            u.limb[j + k] = (u32)less;
            borrow = less >> 63;
            carry >>= 32;
        }
        const u64 less = (u64)u.limb[j + n] - carry - borrow;
        u.limb[j + n] = (u32)less;
        if (less >> 63) {
            --digit;
            u64 more = 0;
            for (int k = 0; k < n; ++k) {
                more += (u64)u.limb[j + k] + v.limb[k];
                u.limb[j + k] = (u32)more;
                more >>= 32;
            }
            u.limb[j + n] += (u32)more;
        }
        made.limb[j] = (u32)digit;
    }
    u.size = n;
    rest = shifted_right(trimmed(u), shift);
    return trimmed(made);
}

// The number of decimal digits; 0 for 0. 1233 / 4096 is a little less than the logarithm of 2 to base 10.
__device__ inline int digits_of(const Wide& x) {
    if (!x.size) return 0;
    const int least = ((bits_of(x) - 1) * 1233 >> 12) + 1;
    return least + (compare(x, wide_ten(least)) >= 0);
}

// The power of 10000 of the first base-10000 digit, and that digit; 0 and 0 for 0.
__device__ __noinline__ int leading(const Wide& x, int scale, u32& digit) {
    digit = 0;
    if (!x.size) return 0;
    const int place = digits_of(x) - 1 - scale, weight = place >= 0 ? place / 4 : -((3 - place) / 4);
    const int power = scale + 4 * weight;
    Wide rest;
    digit = (u32)narrow(power >= 0 ? divide(x, wide_ten(power), rest) : scaled(x, -power));
    return weight;
}

// The least number of decimals of a quotient (PostgreSQL's select_div_scale).
__device__ __noinline__ int significant_scale(const Wide& a, int a_scale, const Wide& b, int b_scale) {
    u32 digit, other;
    const int weight = leading(a, a_scale, digit) - leading(b, b_scale, other);
    return max(SIGNIFICANT - 4 * (weight - (digit <= other)), 0);
}

// The number of decimals that a quotient must not lose: the significant ones, and those of its operands, which show
// `shown` decimals. Of more than MOST_SHOWN of these SIGNIFICANT are enough.
__device__ inline int required_scale(int significant, int shown) {
    return max(significant, shown > MOST_SHOWN ? SIGNIFICANT : shown);
}

// The quotient rounded to `decimals`, halves away from zero, and whether that is exact. One of so many bits that it
// overflows any numeric is 2^160.
__device__ __noinline__ Wide divide_rounded(
    const Wide& a, int a_scale, const Wide& b, int b_scale, int decimals, bool& exact) {
    const int power = decimals + b_scale - a_scale;
    exact = false;
    if (power > 0 && bits_of(a) + (power * 107 >> 5) > 32 * LIMBS - 4) return shifted_words(widen(1), 5);
    const Wide lower = scaled(b, max(-power, 0));
    Wide rest;
    const Wide quotient = divide(scaled(a, max(power, 0)), lower, rest);
    exact = !rest.size;
    return compare(add(rest, rest), lower) >= 0 ? add(quotient, widen(1)) : quotient;
}

// A magnitude of `decimals`, of which at most `carried` are not 0, as a numeric.
__device__ __noinline__ Numeric make_numeric(const Wide& digits, int decimals, bool negative, int carried) {
    const Wide value = scaled(digits, max(carried - decimals, 0));
    const bool overflow = bits_of(digits) > 127 || compare(value, widen(ten(MAX_DIGITS))) >= 0;
    const i128 size = overflow ? 0 : (i128)narrow(value);
    return {negative ? -size : size, decimals, overflow, false};
}

// As `leading`, for fewer bits.
__device__ inline int leading(u64 x, int scale, u32& digit) {
    digit = 0;
    if (!x) return 0;
    const int least = bits_of(x) * 1233 >> 12, place = least + (x >= (u64)ten(least)) - 1 - scale;
    const int weight = place >= 0 ? place / 4 : -((3 - place) / 4), power = scale + 4 * weight;
    digit = (u32)(power >= 0 ? x / (u64)ten(power) : x * (u64)ten(-power));
    return weight;
}

// Whether x * 10 to a power surely has at most 126 bits; 107 / 32 is a little more than the logarithm of 10 to base 2.
__device__ inline bool has_room(u128 x, int power) { return power >= 0 && bits_of(x) + (power * 107 >> 5) < 126; }

// As `quotient`, where 128 bits suffice for all that is computed; else false.
__device__ inline bool quick_quotient(u64 a, int a_scale, u64 b, int b_scale, int shown, int carried, Numeric& made) {
    u32 digit, other;
    const int weight = leading(a, a_scale, digit) - leading(b, b_scale, other);
    const int significant = max(SIGNIFICANT - 4 * (weight - (digit <= other)), 0), scale = max(significant, shown);
    const int decimals = min(scale, carried), power = decimals + b_scale - a_scale;
    if (!has_room(a, power)) return false;
    const u128 upper = a * ten(power), digits = (2 * upper + b) / (2 * (u128)b);
    if (!has_room(digits, carried - decimals)) return false;
    made.value = (i128)(digits * ten(carried - decimals));
    made.overflow = made.value >= (i128)ten(MAX_DIGITS);
    const bool exact = scale <= carried || upper % b == 0;
    made.shown = exact ? min(scale, MAX_DIGITS) : decimals;
    made.lost = !exact && required_scale(significant, shown) > carried;
    return true;
}

// a / b with `carried` decimals, for b that is not 0; `shown` is the operands' greater display scale.
__device__ inline Numeric quotient(i128 a, int a_scale, i128 b, int b_scale, int shown, int carried) {
    const u128 size = magnitude(a), other = magnitude(b);
    Numeric made;
    if (size && !(size >> 63) && !(other >> 63) && a_scale <= 18 && b_scale <= 18 &&
        quick_quotient((u64)size, a_scale, (u64)other, b_scale, shown, carried, made)) {
        if ((a < 0) != (b < 0)) made.value = -made.value;
        return made;
    }
    const Wide upper = widen(size), lower = widen(other);
    const int significant = significant_scale(upper, a_scale, lower, b_scale), scale = max(significant, shown);
    const int decimals = min(scale, carried);
    if (!a) return {0, min(scale, MAX_DIGITS), false, false};
    bool exact;
    const Wide digits = divide_rounded(upper, a_scale, lower, b_scale, decimals, exact);
    made = make_numeric(digits, decimals, (a < 0) != (b < 0), carried);
    made.shown = exact ? min(scale, MAX_DIGITS) : decimals;
    made.lost = !exact && required_scale(significant, shown) > carried;
    return made;
}

__device__ inline double real(const Wide& x) {
    double made = 0;
    for (int k = x.size - 1; k >= 0; --k) made = made * 4294967296.0 + x.limb[k];
    return made;
}

// The square root of an integer of at most ROOT_BITS bits, rounded. A step of Newton's method doubles the bits of a
// float.
static const int ROOT_BITS = 252;
__device__ inline Wide rounded_root(const Wide& x) {
    Wide root = widen((u128)sqrt(real(x))), rest;
    if (!root.size) return root;
    for (int step = 0; step < 2; ++step) root = shifted_right(add(root, divide(x, root, rest)), 1);
    if (compare(multiply(root, root), x) > 0) root = subtract(root, widen(1));
    return compare(subtract(x, multiply(root, root)), root) > 0 ? add(root, widen(1)) : root;
}

// Whether x * 10 to a power has more bits than `rounded_root` takes.
__device__ inline bool is_large_square(const Wide& x, int power) {
    return bits_of(x) + (power * 106 >> 5) > ROOT_BITS || bits_of(scaled(x, power)) > ROOT_BITS;
}

// The variance, or with `root` the standard deviation, of `count` values of `scale` decimals: their sum, and that of
// their squares, which is squares + high * 2^64. A population's variance is divided by count², a sample's by count * (count - 1).
__device__ inline Numeric deviation(
    i64 count, i128 total, u128 squares, u128 high, int scale, bool sample, bool root, int carried) {
    const Wide rows = widen((u128)count), size = widen(magnitude(total));
    const Wide sum = add(widen(squares), multiply(widen(high), widen((u128)1 << 64)));
    const Wide above = multiply(rows, sum), below = multiply(size, size);
    if (count <= (sample ? 1 : 0) || compare(above, below) <= 0) return {0, 0, false, false};
    const Wide upper = subtract(above, below), lower = multiply(rows, widen((u128)count - (sample ? 1 : 0)));
    const int significant = significant_scale(upper, 2 * scale, lower, 0), shown = max(significant, 2 * scale);
    // A root has as many decimals as its variance, which is rounded: it is computed from all of them.
    const int held = root ? MAX_DIGITS : carried;
    int decimals = min(shown, held);
    bool exact;
    Wide digits = divide_rounded(upper, 2 * scale, lower, 0, decimals, exact);
    const int required = required_scale(significant, 2 * scale);
    const bool lost = !exact && required > held;
    Numeric made = {0, exact ? min(shown, MAX_DIGITS) : decimals, false, lost};
    if (root) {
        // A large root is that of a variance of no more decimals than are carried.
        const bool cut = decimals > carried && is_large_square(digits, decimals);
        if (cut) {
            const Wide unit = wide_ten(decimals - carried);
            Wide rest;
            digits = divide(digits, unit, rest);
            if (compare(add(rest, rest), unit) >= 0) digits = add(digits, widen(1));
            decimals = carried;
        }
        if (is_large_square(digits, decimals)) {
            made.shown = min(decimals, carried);
            made.lost = lost || required > carried;
            made.overflow = !made.lost;
            return made;
        }
        digits = rounded_root(scaled(digits, decimals));
        exact = !cut;
        if (decimals > carried) {
            const Wide unit = wide_ten(decimals - carried);
            Wide rest;
            digits = divide(digits, unit, rest);
            exact = !rest.size;
            if (compare(add(rest, rest), unit) >= 0) digits = add(digits, widen(1));
        }
        made.shown = exact ? decimals : min(decimals, carried);
        made.lost = lost || (!exact && required > carried);
    }
    const Numeric found = make_numeric(digits, min(decimals, carried), false, carried);
    made.value = found.value;
    made.overflow = found.overflow;
    return made;
}

// count * sum of products - product of sums, as a float: a covariance or, for x = y, a variance, without division.
__device__ inline double co_moment(i64 count, i128 x, i128 y, i128 products) {
    const Wide above = multiply(widen((u128)count), widen(magnitude(products)));
    const Wide below = multiply(widen(magnitude(x)), widen(magnitude(y)));
    const bool minus = products < 0, negative = (x < 0) != (y < 0);
    if (minus != negative) return minus ? -real(add(above, below)) : real(add(above, below));
    const int order = compare(above, below);
    const double size = order < 0 ? real(subtract(below, above)) : real(subtract(above, below));
    return (order < 0) != minus ? -size : size;
}

}  // namespace exact
