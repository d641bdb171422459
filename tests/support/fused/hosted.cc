// Runs a kernel's blocks one after the other, each by as many threads as it has.
#include "hosted.h"

#include <barrier>
#include <memory>
#include <thread>
#include <vector>

thread_local Place threadIdx, blockIdx, blockDim, gridDim;
thread_local uint4* shared_memory;
thread_local unsigned long long* warps_memory;
static thread_local std::barrier<>* block_barrier;
static thread_local std::barrier<>* warp_barrier;
static thread_local unsigned long long* lanes;

void __syncthreads() { block_barrier->arrive_and_wait(); }

unsigned long long exchanged(unsigned long long bits, int lane_mask) {
    lanes[threadIdx.x & 31] = bits;
    warp_barrier->arrive_and_wait();
    const unsigned long long found = lanes[(threadIdx.x & 31) ^ lane_mask];
    warp_barrier->arrive_and_wait();
    return found;
}

extern "C" void run_blocks(void (*kernel)(void**), void** given, unsigned grid, unsigned block, unsigned shared) {
    for (unsigned number = 0; number < grid; ++number) {
        // What is there before a kernel writes it is no zero.
        std::vector<uint4> memory(shared / 16 + 1, uint4{~0u, ~0u, ~0u, ~0u});
        std::vector<unsigned long long> warps(32, ~0ull), exchange(block);
        std::barrier<> all(block);
        std::vector<std::unique_ptr<std::barrier<>>> of_warps;
        for (unsigned first = 0; first < block; first += 32) of_warps.push_back(std::make_unique<std::barrier<>>(32));
        std::vector<std::thread> threads;
        for (unsigned place = 0; place < block; ++place)
            threads.emplace_back([&, place] {
                threadIdx.x = place, blockIdx.x = number, blockDim.x = block, gridDim.x = grid;
                shared_memory = memory.data(), warps_memory = warps.data();
                block_barrier = &all, warp_barrier = of_warps[place / 32].get(), lanes = &exchange[place / 32 * 32];
                kernel(given);
            });
        for (auto& each : threads) each.join();
    }
}

// The same for a kernel whose threads know nothing of one another: they run one after the other.
extern "C" void run_alone(void (*kernel)(void**), void** given, unsigned grid, unsigned block) {
    blockDim.x = block, gridDim.x = grid;
    for (blockIdx.x = 0; blockIdx.x < grid; ++blockIdx.x)
        for (threadIdx.x = 0; threadIdx.x < block; ++threadIdx.x) kernel(given);
}
