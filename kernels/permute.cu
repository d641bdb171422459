// The rows at positions first, first + step … of a shuffled order (gpudb/api/training/permutation.py).
//
// Positions are taken modulo `rows`. `keys` holds a factor and a summand for each round.
typedef unsigned long long u64;
typedef long long i64;

extern "C" __global__ void permute(
    i64 first, i64 step, i64 count, i64 rows, int bits, int rounds, const u64* keys, i64* out) {
    const u64 mask = (1ull << bits) - 1;
    const int shift = (bits + 1) / 2;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (i64)gridDim.x * blockDim.x) {
        u64 x = (u64)((first + step * i) % rows);
        do {
            for (int r = 0; r < rounds; ++r) {
                x = (x * keys[2 * r] + keys[2 * r + 1]) & mask;
                x ^= x >> shift;
            }
        } while (x >= (u64)rows);
        out[i] = (i64)x;
    }
}
