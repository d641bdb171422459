// Compacts the groups that exist: writes the key words of each, then its accumulator words.
//
// `keys` holds `key_words` arrays of a hash table's slots. Without it a slot's index is its one key, and the slot is a
// group if its first word, which counts rows, is not 0. `cursor` counts groups; those beyond `room` are not written.
#include "groups.cuh"

extern "C" __global__ void __launch_bounds__(256) compact(
    const i64* keys, int key_words, const u64* words, int accumulators, i64 slots, u64* cursor, i64 room, i64* rows) {
    for (i64 slot = (i64)blockIdx.x * 256 + threadIdx.x; slot < slots; slot += (i64)gridDim.x * 256) {
        if (keys ? keys[slot] == -1 : !words[slot]) continue;
        const u64 place = next_place(cursor);
        if (place >= (u64)room) continue;
        i64* row = rows + place * (u64)(key_words + accumulators);
        for (int k = 0; k < key_words; ++k) *row++ = keys ? keys[k * slots + slot] : slot;
        for (int a = 0; a < accumulators; ++a) *row++ = (i64)words[a * slots + slot];
    }
}
