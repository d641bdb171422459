// What a generated kernel needs of CUDA, for a C++ compiler: a CUDA thread is a thread of the host's.
//
// Lanes of a warp are alone: each sees no other one beside it where it asks who is there, as if they had diverged. Where
// all 32 are asked for, they wait for one another.
#pragma once
#include <cstring>

#define __global__
#define __device__
#define __forceinline__ inline
#define __noinline__ inline
#define __launch_bounds__(...)
#define __restrict__ __restrict

struct Place { unsigned x; };
struct uint2 { unsigned x, y; };
struct uint4 { unsigned x, y, z, w; };
struct float4 { float x, y, z, w; };
extern thread_local Place threadIdx, blockIdx, blockDim, gridDim;
extern thread_local uint4* shared_memory;
extern thread_local unsigned long long* warps_memory;
void __syncthreads();
unsigned long long exchanged(unsigned long long bits, int lane_mask);

template <class T> T __ldcs(const T* at) { return *at; }
template <class T> T __ldg(const T* at) { return *at; }
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline int __ffs(unsigned x) { return __builtin_ffs((int)x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by) {
    return (unsigned)(((unsigned long long)high << 32 | low) << (by & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
    return (unsigned)(((unsigned long long)high << 32 | low) >> (by & 31));
}
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
template <class To, class From> To same_bits(From x) {
    static_assert(sizeof(To) == sizeof(From), "as many bits");
    To made;
    __builtin_memcpy(&made, &x, sizeof made);
    return made;
}
inline float __uint_as_float(unsigned x) { return same_bits<float>(x); }
inline double __longlong_as_double(long long x) { return same_bits<double>(x); }
inline long long __double_as_longlong(double x) { return same_bits<long long>(x); }
template <class T> T min(T a, T b) { return a < b ? a : b; }
template <class T> T max(T a, T b) { return a > b ? a : b; }
#define sqrt(x) __builtin_sqrt(x)
#define exp(x) __builtin_exp(x)

template <class T> T atomicAdd(T* at, T x) { return __atomic_fetch_add(at, x, __ATOMIC_SEQ_CST); }
inline unsigned atomicAdd(unsigned* at, unsigned x) { return __atomic_fetch_add(at, x, __ATOMIC_SEQ_CST); }
template <class T> T swapped(T* at, T held, T made) {
    __atomic_compare_exchange_n(at, &held, made, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return held;
}
template <class T> T atomicOr(T* at, T x) { return __atomic_fetch_or(at, x, __ATOMIC_SEQ_CST); }
inline double atomicAdd(double* at, double x) {
    long long* bits = (long long*)at;
    for (long long held = *bits;;) {
        const long long found = swapped(bits, held, __double_as_longlong(__longlong_as_double(held) + x));
        if (found == held) return __longlong_as_double(held);
        held = found;
    }
}
template <class T, class Better> T better(T* at, T x, Better is) {
    for (T held = *at;;) {
        if (!is(x, held)) return held;
        const T found = swapped(at, held, x);
        if (found == held) return held;
        held = found;
    }
}
template <class T> T atomicMin(T* at, T x) { return better(at, x, [](T a, T b) { return a < b; }); }
template <class T> T atomicMax(T* at, T x) { return better(at, x, [](T a, T b) { return a > b; }); }
inline unsigned long long atomicCAS(unsigned long long* at, unsigned long long held, unsigned long long made) {
    return swapped(at, held, made);
}

inline unsigned __activemask() { return 1u << (threadIdx.x & 31); }
template <class T> unsigned __match_any_sync(unsigned, T) { return __activemask(); }
inline unsigned __reduce_add_sync(unsigned, unsigned x) { return x; }
template <class T> T __shfl_sync(unsigned, T x, int) { return x; }
template <class T> T __shfl_xor_sync(unsigned, T x, int lanes) {
    return same_bits<T>(exchanged(same_bits<unsigned long long>(x), lanes));
}
inline unsigned __shfl_xor_sync(unsigned, unsigned x, int lanes) { return (unsigned)exchanged(x, lanes); }
