// Concatenates raw text from parts, which are decoded texts or raw text columns: 32-bit end offsets, counted from the
// start of their group of 2^group_bits rows, and the bytes. A part's first row is row `start` of the whole, its first
// byte is byte `before`. `recode` maps indexes of a part's distinct texts to codes of a dictionary.
#include "columns.cuh"

static const int BLOCK = 256;
typedef int i32;

// A row's end offset in its part, whose offsets have 4 or 8 bytes or, for `width` 0, count from their groups' `starts`.
__device__ __forceinline__ i64 end_of(const u8* ends, int width, const i64* starts, int group_bits, i64 row) {
    if (width == 8) return reinterpret_cast<const i64*>(ends)[row];
    if (width == 4) return reinterpret_cast<const i32*>(ends)[row];
    return starts[row >> group_bits] + reinterpret_cast<const u32*>(ends)[row];
}

// Writes the starts of groups whose first row follows one of the part's rows; a thread writes one.
extern "C" __global__ void __launch_bounds__(256) text_starts(
    const u8* ends, int width, const i64* starts, int group_bits, i64 rows, i64 start, i64 before, i64* to) {
    const i64 group = (start >> group_bits) + 1 + (i64)blockIdx.x * BLOCK + threadIdx.x;
    const i64 row = (group << group_bits) - 1 - start;
    if (row < rows) to[group] = before + end_of(ends, width, starts, group_bits, row);
}

// Writes the part's end offsets, after the groups' starts are known; a thread writes one.
extern "C" __global__ void __launch_bounds__(256) text_ends(
    const u8* ends, int width, const i64* starts, int group_bits, i64 rows, i64 start, i64 before,
    const i64* groups, u32* to) {
    const i64 row = (i64)blockIdx.x * BLOCK + threadIdx.x;
    if (row >= rows) return;
    const i64 end = before + end_of(ends, width, starts, group_bits, row);
    to[start + row] = (u32)(end - groups[start + row >> group_bits]);
}

// Copies a part's bytes; sets `beyond` to 1 if one is not ASCII. A thread copies one.
extern "C" __global__ void __launch_bounds__(256) text_bytes(const u8* from, i64 size, u8* to, i64 before, u32* beyond) {
    const i64 place = (i64)blockIdx.x * BLOCK + threadIdx.x;
    if (place >= size) return;
    const u8 byte = from[place];
    to[before + place] = byte;
    if (byte > 127 && !*(volatile u32*)beyond) atomicOr(beyond, 1u);
}

// A NULL's index may be out of range.
extern "C" __global__ void __launch_bounds__(256) recode(
    const i32* places, i64 rows, const i32* codes, i32 last, i32* to) {
    const i64 row = (i64)blockIdx.x * BLOCK + threadIdx.x;
    if (row < rows) to[row] = last < 0 ? 0 : codes[min(places[row], last)];
}
