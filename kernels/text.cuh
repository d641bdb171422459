// LIKE over the UTF-8 bytes of raw text; numpy_backend/like.py does the same on the host.
#pragma once
#include "columns.cuh"

// Wildcards for one character, and for any number of them: bytes that UTF-8 never uses.
constexpr u32 LIKE_ONE = 0xFE, LIKE_ANY = 0xFF;

// Reads a text by aligned words of eight bytes; with FOLD it lowercases ASCII.
template <bool FOLD>
struct Bytes {
    const u8* text;
    u64 held;  // the address of the word
    u64 word;

    __device__ __forceinline__ void fetch(u64 address) {
        if (address == held) return;
        held = address;
        word = __ldg(reinterpret_cast<const u64*>(address));
        if (FOLD) {
            const u64 low = word & 0x7F7F7F7F7F7F7F7Full;
            const u64 from = low + 0x3F3F3F3F3F3F3F3Full, beyond = low + 0x2525252525252525ull;
            word |= ((from ^ beyond) & ~word & 0x8080808080808080ull) >> 2;
        }
    }
    __device__ __forceinline__ u32 at(u32 place) {
        const u64 address = (u64)(text + place);
        fetch(address & ~7ull);
        return (u32)(word >> (address & 7) * 8) & 0xFF;
    }
    // The first position from `place` on with a byte; the length if there is none.
    __device__ __forceinline__ u32 find(u32 wanted, u32 place, u32 length) {
        const u64 every = wanted * 0x0101010101010101ull;
        while (place < length) {
            const u64 address = (u64)(text + place);
            fetch(address & ~7ull);
            const u64 other = word ^ every;
            u64 same = ~((other & 0x7F7F7F7F7F7F7F7Full) + 0x7F7F7F7F7F7F7F7Full | other | 0x7F7F7F7F7F7F7F7Full);
            same &= ~0ull << (address & 7) * 8;
            if (same) {
                place = (u32)((address & ~7ull) + (__ffsll(same) - 1 >> 3) - (u64)text);
                return place < length ? place : length;
            }
            place += 8 - (u32)(address & 7);
        }
        return length;
    }
    // The start of the character after the one at a position.
    __device__ __forceinline__ u32 after(u32 place, u32 length) {
        const u32 lead = at(place);
        place += lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
        return place < length ? place : length;
    }
};

// Whether `length` bytes match a pattern of `count` bytes. The part after the last LIKE_ANY is tried at one position
// after the other; once the text ends within it, no later position can match.
template <bool FOLD>
__device__ __noinline__ bool like(const u8* text, u32 length, const u8* pattern, int count) {
    Bytes<FOLD> bytes = {text, ~0ull, 0};
    u32 place = 0, tried = 0;
    int p = 0, again = -1;
    while (true) {
        if (p < count) {
            const u32 wanted = __ldg(pattern + p);
            if (wanted == LIKE_ANY) {
                again = ++p;
                if (p == count) return true;
                const u32 first = __ldg(pattern + p);
                if (first != LIKE_ONE) place = bytes.find(first, place, length);
                tried = place;
                continue;
            }
            if (place >= length) return false;
            if (wanted == LIKE_ONE) {
                place = bytes.after(place, length);
                ++p;
                continue;
            }
            if (bytes.at(place) == wanted) {
                ++place;
                ++p;
                continue;
            }
        } else if (place == length) {
            return true;
        }
        if (again < 0) return false;
        const u32 first = __ldg(pattern + again);
        place = first == LIKE_ONE ? bytes.after(tried, length) : bytes.find(first, tried + 1, length);
        tried = place;
        p = again;
    }
}
