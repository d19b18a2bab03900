// CUB's way to the sums of time series, on the points of benches/time_series.rs: ReduceByKey, with timestamps rounded
// as they are read.
//
// Build and run with NVIDIA's compiler on a machine with a GPU:
//     nvcc -O3 -std=c++17 -arch=native -o /tmp/time_series_cub time_series_cub.cu && /tmp/time_series_cub
// Times are by CUDA events, of 10^8 points that are in the device's memory: 5 seconds apart, into buckets of 35. Memory for
// results is there before.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include <cub/cub.cuh>
#include <thrust/iterator/transform_iterator.h>

#include "timing.cuh"

constexpr int POINTS = 100'000'000;
constexpr long long START = 1'600'000'000, STEP = 5, EVERY = 35;

struct Round {
    __host__ __device__ long long operator()(long long timestamp) const {
        return timestamp / EVERY * EVERY;
    }
};

struct SumAndCount {
    double sum;
    int count;
};

struct One {
    __host__ __device__ SumAndCount operator()(double value) const { return {value, 1}; }
};

struct Add {
    __host__ __device__ double operator()(double a, double b) const { return a + b; }
    __host__ __device__ SumAndCount operator()(SumAndCount a, SumAndCount b) const {
        return {a.sum + b.sum, a.count + b.count};
    }
};

int main() {
    std::vector<long long> timestamps(POINTS);
    std::vector<double> values(POINTS);
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> uniform(-1.0, 1.0);
    for (int i = 0; i < POINTS; i++) {
        timestamps[i] = START + STEP * i;
        values[i] = uniform(random);
    }
    auto* times = on_device<long long>(POINTS);
    auto* numbers = on_device<double>(POINTS);
    CHECK(cudaMemcpy(times, timestamps.data(), POINTS * 8ull, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(numbers, values.data(), POINTS * 8ull, cudaMemcpyHostToDevice));
    const size_t room = POINTS / (EVERY / STEP) + 2;
    auto* starts = on_device<long long>(room);
    auto* sums = on_device<double>(room);
    auto* both = on_device<SumAndCount>(room);
    auto* count = on_device<int>(1);
    auto keys = thrust::make_transform_iterator(times, Round{});
    auto pairs = thrust::make_transform_iterator(numbers, One{});

    auto reduce = [&](void* memory, size_t& bytes, auto from, auto to) {
        return cub::DeviceReduce::ReduceByKey(memory, bytes, keys, starts, from, to, count, Add{}, POINTS);
    };
    size_t bytes = 0, more = 0;
    CHECK(reduce(nullptr, bytes, numbers, sums));
    CHECK(reduce(nullptr, more, pairs, both));
    bytes = std::max(bytes, more);
    void* memory = on_device<char>(bytes);
    auto sum_times = times_ms([&] { return reduce(memory, bytes, numbers, sums); });
    auto mean_times = times_ms([&] { return reduce(memory, bytes, pairs, both); });

    // The second bucket is whole, whatever the first one is.
    long long label;
    SumAndCount found;
    double sum;
    CHECK(cudaMemcpy(&label, starts + 1, sizeof label, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&found, both + 1, sizeof found, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&sum, sums + 1, sizeof sum, cudaMemcpyDeviceToHost));
    double expected = 0;
    int points = 0;
    for (int i = 0; timestamps[i] < label + EVERY; i++) {
        if (timestamps[i] >= label) expected += values[i], points++;
    }
    if (std::abs(sum - expected) > 1e-12 || std::abs(found.sum - expected) > 1e-12 || found.count != points) {
        std::fprintf(stderr, "the results are wrong\n");
        return 1;
    }
    int buckets;
    CHECK(cudaMemcpy(&buckets, count, sizeof buckets, cudaMemcpyDeviceToHost));
    const size_t moved = 16ull * POINTS + 16ull * buckets;
    row("sum, buckets of 7", "CUB (ReduceByKey)", sum_times, moved);
    // The count is there in place of a mean.
    row("mean, buckets of 7", "CUB (ReduceByKey, sum and count)", mean_times, moved);
}
