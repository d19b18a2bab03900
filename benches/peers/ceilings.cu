// What the GPU can do: the ceilings beside which `cargo xtask bench` puts every kernel.
//
// Build and run with NVIDIA's compiler on a machine with a Hopper GPU:
//     nvcc -O3 -std=c++17 -arch=sm_90a -o /tmp/ceilings ceilings.cu && /tmp/ceilings
// The copy reads and writes 1 GB within the device's memory. The others repeat one instruction on numbers in registers, or in
// shared memory for the products of tensor cores in tf32 and bf16, with random numbers: the clock depends on them.

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "timing.cuh"

constexpr int RUNS = 15, THREADS = 256, ROUNDS = 4096, CHAINS = 8;

// Eight independent chains of one instruction in each thread.
struct Fma32 {
    using Number = float;
    static constexpr int OPERATIONS = 2;
    __device__ static float next(float x, float a, float b) { return fmaf(x, a, b); }
};

struct Fma64 {
    using Number = double;
    static constexpr int OPERATIONS = 2;
    __device__ static double next(double x, double a, double b) { return fma(x, a, b); }
};

struct Logic {
    using Number = uint32_t;
    static constexpr int OPERATIONS = 1;
    __device__ static uint32_t next(uint32_t x, uint32_t a, uint32_t b) {
        uint32_t next;
        // x & a ^ b, which is one instruction, and which the compiler does not take apart.
        asm volatile("lop3.b32 %0, %1, %2, %3, 0x6a;" : "=r"(next) : "r"(x), "r"(a), "r"(b));
        return next;
    }
};

template <typename Unit>
__global__ void chains(typename Unit::Number a, typename Unit::Number b, typename Unit::Number* out) {
    typename Unit::Number x[CHAINS];
    for (int i = 0; i < CHAINS; i++) x[i] = static_cast<typename Unit::Number>(threadIdx.x + i);
    for (int round = 0; round < ROUNDS; round++) {
#pragma unroll
        for (int i = 0; i < CHAINS; i++) x[i] = Unit::next(x[i], a, b);
    }
    typename Unit::Number sum = 0;
    for (int i = 0; i < CHAINS; i++) sum += x[i];
    // Never true, but the compiler does not know.
    if (sum == static_cast<typename Unit::Number>(0x7654321)) out[threadIdx.x] = sum;
}

// Products of 16×16 by 16×8 numbers of f64, one after the other in each warp.
__global__ void tensor_f64(const double* numbers, double* out) {
    double a[8], b[4], d[4] = {};
    for (int i = 0; i < 8; i++) a[i] = numbers[(threadIdx.x + 32 * i) % 1024];
    for (int i = 0; i < 4; i++) b[i] = numbers[(threadIdx.x + 32 * i + 256) % 1024];
    for (int round = 0; round < ROUNDS / 4; round++) {
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, "
            "{%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, {%0, %1, %2, %3};"
            : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
            : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]),
              "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
    }
    out[blockIdx.x * THREADS + threadIdx.x] = d[0] + d[1] + d[2] + d[3];
}

// A product of 64×K by K×256 numbers that is added to d. Other code than that for sm_90a, which nvcc may be asked for too, has no
// such instructions, and sums of zero.
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define MULTIPLY(INSTRUCTION, END, d, a, b) \
    asm volatile( \
    "wgmma.mma_async.sync.aligned." INSTRUCTION " {" \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, " \
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, " \
    "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
    "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, " \
    "%128, %129, 1, 1, 1" END ";" \
    : \
      "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), \
      "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), \
      "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), \
      "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), \
      "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), \
      "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), \
      "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), \
      "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), \
      "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), \
      "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), \
      "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), \
      "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), \
      "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]), \
      "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]), \
      "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]), \
      "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127]) \
    : "l"(a), "l"(b))
#define WGMMA(INSTRUCTION) asm volatile("wgmma." INSTRUCTION)
#else
#define MULTIPLY(INSTRUCTION, END, d, a, b)
#define WGMMA(INSTRUCTION)
#endif

struct Tf32 {
    static constexpr int K = 8;
    __device__ static void multiply(float (&d)[128], unsigned long long a, unsigned long long b) {
        MULTIPLY("m64n256k8.f32.tf32.tf32", "", d, a, b);
    }
};

struct Bf16 {
    static constexpr int K = 16;
    __device__ static void multiply(float (&d)[128], unsigned long long a, unsigned long long b) {
        // Neither factor is transposed.
        MULTIPLY("m64n256k16.f32.bf16.bf16", ", 0, 0", d, a, b);
    }
};

// Products of 64×K by K×256 numbers in shared memory, whose layout does not count: each is read once a product.
template <typename Type>
__global__ void tensor_wgmma(const uint32_t* numbers, float* out) {
    extern __shared__ __align__(1024) uint32_t tiles[];
    for (int i = threadIdx.x; i < 12288; i += THREADS) tiles[i] = numbers[i % 4096];
    asm volatile("fence.proxy.async;");
    __syncthreads();
    float d[128] = {};
    const auto start = static_cast<unsigned long long>(__cvta_generic_to_shared(tiles));
    // The distances of the pieces of 8 rows of 16 bytes along k and along the rows: 128 and 256 bytes.
    const unsigned long long strides = (8ull << 16) | (16ull << 32);
    const unsigned long long group = threadIdx.x / 128;
    for (int round = 0; round < ROUNDS / 32; round++) {
        WGMMA("fence.sync.aligned;");
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const unsigned long long a = start + (group * 4 + i) * 2048, b = start + 16384 + i * 8192;
            Type::multiply(d, strides | ((a >> 4) & 0x3fff), strides | ((b >> 4) & 0x3fff));
        }
        WGMMA("commit_group.sync.aligned;");
        WGMMA("wait_group.sync.aligned 0;");
    }
    float sum = 0;
    for (int i = 0; i < 128; i++) sum += d[i];
    out[blockIdx.x * THREADS + threadIdx.x] = sum;
}

template <typename Unit>
void show_chains(const char* name, int blocks) {
    auto* out = on_device<typename Unit::Number>(THREADS);
    auto times = times_ms([&] {
        chains<Unit><<<blocks, THREADS>>>(typename Unit::Number(1), typename Unit::Number(3), out);
        return cudaGetLastError();
    }, RUNS);
    const size_t count = size_t(blocks) * THREADS * ROUNDS * CHAINS * Unit::OPERATIONS;
    row(name, "ceiling", times, 0, count, name);
    CHECK(cudaFree(out));
}

template <typename Type>
void show_wgmma(const char* name, int blocks, const uint32_t* numbers, float* out) {
    constexpr int BYTES = 12288 * 4;
    CHECK(cudaFuncSetAttribute(tensor_wgmma<Type>, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES));
    auto times = times_ms([&] {
        tensor_wgmma<Type><<<blocks, THREADS, BYTES>>>(numbers, out);
        return cudaGetLastError();
    }, RUNS);
    float sum;
    CHECK(cudaMemcpy(&sum, out, 4, cudaMemcpyDeviceToHost));
    if (sum == 0) {
        std::fprintf(stderr, "%s: compile this program for sm_90a\n", name);
        std::exit(1);
    }
    const size_t count = size_t(blocks) * (THREADS / 128) * (ROUNDS / 32) * 4 * 2 * 64 * 256 * Type::K;
    row(name, "ceiling", times, 0, count, name);
}

int main() {
    int processors;
    CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
    constexpr size_t GIGABYTE = 1'000'000'000;
    auto* from = on_device<char>(GIGABYTE);
    auto* to = on_device<char>(GIGABYTE);
    CHECK(cudaMemset(from, 1, GIGABYTE));
    auto times = times_ms([&] { return cudaMemcpyAsync(to, from, GIGABYTE, cudaMemcpyDeviceToDevice); }, RUNS);
    row("copy", "ceiling", times, 2 * GIGABYTE);

    const int blocks = processors * 8 * 4;
    show_chains<Fma32>("f32", blocks);
    show_chains<Fma64>("f64", blocks);
    show_chains<Logic>("i32", blocks);

    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> uniform(-1.0, 1.0);
    std::vector<double> doubles(1024);
    for (auto& number : doubles) number = uniform(random);
    auto* numbers = on_device<double>(1024);
    auto* sums = on_device<double>(size_t(blocks) * THREADS);
    CHECK(cudaMemcpy(numbers, doubles.data(), 8192, cudaMemcpyHostToDevice));
    times = times_ms([&] {
        tensor_f64<<<blocks, THREADS>>>(numbers, sums);
        return cudaGetLastError();
    }, RUNS);
    const size_t products = size_t(blocks) * (THREADS / 32) * (ROUNDS / 4) * 2 * 16 * 8 * 16;
    row("tensor_f64", "ceiling", times, 0, products, "tensor_f64");

    std::vector<float> singles(4096);
    for (auto& number : singles) number = uniform(random);
    auto* narrow = on_device<uint32_t>(4096);
    auto* out = on_device<float>(size_t(blocks) * THREADS);
    CHECK(cudaMemcpy(narrow, singles.data(), 16384, cudaMemcpyHostToDevice));
    show_wgmma<Tf32>("tensor_tf32", processors * 16, narrow, out);
    std::vector<uint16_t> halves(8192);
    for (auto& half : halves) {
        const float number = uniform(random);
        uint32_t bits;
        std::memcpy(&bits, &number, 4);
        half = bits >> 16;
    }
    CHECK(cudaMemcpy(narrow, halves.data(), 16384, cudaMemcpyHostToDevice));
    show_wgmma<Bf16>("tensor_half", processors * 16, narrow, out);
    CHECK(cudaDeviceSynchronize());
}
