// How the peers in CUDA C++ take times, and how they show them. See benches/peers/timing.py and crates/figures.

#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <cub/version.cuh>

#define CHECK(call)                                                                      \
    do {                                                                                 \
        cudaError_t error = (call);                                                      \
        if (error != cudaSuccess) {                                                      \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));          \
            std::exit(1);                                                                \
        }                                                                                \
    } while (0)

// Uninitialized memory of the device.
template <typename T>
T* on_device(size_t count) {
    T* memory;
    CHECK(cudaMalloc(&memory, count * sizeof(T)));
    return memory;
}

// The times of work in ms by CUDA events, after a first run that is not counted.
template <typename Work>
std::vector<double> times_ms(Work work, int runs = 15) {
    cudaEvent_t start, end;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&end));
    std::vector<double> times;
    for (int run = 0; run <= runs; run++) {
        CHECK(cudaEventRecord(start));
        CHECK(work());
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        float milliseconds;
        CHECK(cudaEventElapsedTime(&milliseconds, start, end));
        if (run > 0) times.push_back(milliseconds);
    }
    CHECK(cudaEventDestroy(start));
    CHECK(cudaEventDestroy(end));
    return times;
}

// Prints a row of CUB, and appends it to the file that `cargo xtask bench` names. `bytes` are those that have to be read
// and written at least; 0 leaves them out.
inline void row(const std::string& name, const std::string& program, std::vector<double> times, size_t bytes = 0) {
    std::sort(times.begin(), times.end());
    double median = times[times.size() / 2], least = times.front(), most = times.back();
    std::printf("%-52s %.4g ms (%.4g to %.4g)  %s\n", name.c_str(), median, least, most, program.c_str());
    const char* path = std::getenv("GRIDSTRIDE_BENCH_ROWS");
    if (!path) return;
    std::FILE* file = std::fopen(path, "a");
    if (!file) {
        std::perror(path);
        std::exit(1);
    }
    std::fprintf(
        file,
        "{\"case\": \"%s\", \"program\": \"%s\", \"version\": \"%d.%d.%d\", \"clock\": \"device\", "
        "\"median_ms\": %.9g, \"least_ms\": %.9g, \"most_ms\": %.9g, \"runs\": %zu",
        name.c_str(), program.c_str(), CUB_VERSION / 100000, CUB_VERSION / 100 % 1000, CUB_VERSION % 100,
        median, least, most, times.size()
    );
    if (bytes > 0) std::fprintf(file, ", \"bytes\": %zu", bytes);
    std::fprintf(file, "}\n");
    std::fclose(file);
}
