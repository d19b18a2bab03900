// CUB's radix sort of the keys and values of benches/primitives.rs: random 64-bit keys, alone and with 32-bit values.
//
// Build and run with NVIDIA's compiler on a machine with a GPU:
//     nvcc -O3 -std=c++17 -arch=native -o /tmp/primitives_cub primitives_cub.cu && /tmp/primitives_cub
// From arrays in the device's memory, by CUDA events. The memory that CUB needs, and that of the result, is there before.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <cub/cub.cuh>

#include "timing.cuh"

// SplitMix64.
uint64_t next(uint64_t& state) {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

// `number` is the count as the rows' names say it.
void sort(int count, const std::string& number, int bits) {
    std::vector<uint64_t> keys(count);
    std::vector<uint32_t> values(count);
    uint64_t state = 1;
    for (int i = 0; i < count; i++) keys[i] = next(state), values[i] = i;
    auto *from = on_device<uint64_t>(count), *to = on_device<uint64_t>(count);
    auto *values_from = on_device<uint32_t>(count), *values_to = on_device<uint32_t>(count);
    CHECK(cudaMemcpy(from, keys.data(), count * 8ull, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(values_from, values.data(), count * 4ull, cudaMemcpyHostToDevice));

    auto sort_keys = [&](void* memory, size_t& bytes) {
        return cub::DeviceRadixSort::SortKeys(memory, bytes, from, to, count, 0, bits);
    };
    auto sort_pairs = [&](void* memory, size_t& bytes) {
        return cub::DeviceRadixSort::SortPairs(memory, bytes, from, to, values_from, values_to, count, 0, bits);
    };
    size_t bytes = 0, more = 0;
    CHECK(sort_keys(nullptr, bytes));
    CHECK(sort_pairs(nullptr, more));
    bytes = std::max(bytes, more);
    void* memory = on_device<char>(bytes);
    // As in benches/primitives.rs.
    const size_t passes = (bits + 7) / 8;
    const auto by = " by " + std::to_string(bits) + " bits";
    std::vector<uint64_t> keys_alone(count), sorted(count);
    std::vector<uint32_t> moved(count);
    row(number + " keys" + by, "CUB", times_ms([&] { return sort_keys(memory, bytes); }), (8 + 16 * passes) * count);
    CHECK(cudaMemcpy(keys_alone.data(), to, count * 8ull, cudaMemcpyDeviceToHost));
    CHECK(cudaMemset(to, 0, count * 8ull));
    row(number + " pairs" + by, "CUB", times_ms([&] { return sort_pairs(memory, bytes); }), (8 + 24 * passes) * count);

    CHECK(cudaMemcpy(sorted.data(), to, count * 8ull, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(moved.data(), values_to, count * 4ull, cudaMemcpyDeviceToHost));
    uint64_t mask = bits == 64 ? ~0ull : (1ull << bits) - 1;
    // Values are the places of their keys before. In strictly increasing order none occurs twice, so all occur, and equal
    // bits keep their order.
    auto pair = [&](int i) { return std::make_pair(sorted[i] & mask, moved[i]); };
    for (int i = 0; i < count; i++) {
        bool in_order = i == 0 || pair(i - 1) < pair(i);
        if (!in_order || moved[i] >= uint32_t(count) || keys[moved[i]] != sorted[i] || keys_alone[i] != sorted[i]) {
            std::fprintf(stderr, "the results are wrong\n");
            std::exit(1);
        }
    }
    for (void* array : {(void*)from, (void*)to, (void*)values_from, (void*)values_to, memory}) CHECK(cudaFree(array));
}

int main() {
    sort(100'000'000, "10⁸", 64);
    sort(100'000'000, "10⁸", 32);
    sort(1'000'000, "10⁶", 64);
    sort(400'000, "400 000", 48);
}
