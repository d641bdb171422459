// Order and rounding of numbers as in PostgreSQL.
#pragma once
#include "columns.cuh"

// NaN equals itself and is greater than all.
__device__ __forceinline__ bool real_less(double a, double b) { return a < b || (a == a && b != b); }
__device__ __forceinline__ bool real_same(double a, double b) { return a == b || (a != a && b != b); }

// An integer that sorts as the float does; the host decodes it.
__device__ __forceinline__ i64 ordered(double x) {
    i64 bits = x != x ? 0x7FF8000000000000LL : __double_as_longlong(x);
    return bits < 0 ? bits ^ 0x7FFFFFFFFFFFFFFFLL : bits;
}

// Rounds to nearest, half away from zero.
template <class T>
__device__ __forceinline__ T round_div(T a, T b) {
    return a < 0 ? -((-a + b / 2) / b) : (a + b / 2) / b;
}

template <class T>
__device__ __forceinline__ T floor_quotient(T a, T b) {
    const T q = a / b;
    return q - (a - q * b < 0);
}

__device__ __forceinline__ bool finite(double x) { return x - x == 0; }
__device__ __forceinline__ bool infinite(double x) { return x == x && x - x != 0; }
