/* SPDX-License-Identifier: MIT */
/* Times the product kernels: GB/s of weights with one row, Gop/s with 512 rows, every type and
 * path. Input: optional type name. Output: a table on stdout, probes of memory and multiply units
 * beside. Thread: one. Bounds: 256 MiB of packed weights a type. Op counts are multiplications plus
 * additions. The machine's clock moves: compare with the probe of the same line. */
#include "device/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../../tests/kernel/product_data.h"

#define ROWS 512u
#define K 4096u
#define WEIGHT_BYTES ((size_t)192 << 20)
#define MIN_SECONDS 0.15

/* This thread's processor time: other processes on the machine matter less. */
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *allocate(size_t bytes) {
    void *memory = aligned_alloc(2u << 20, (bytes + (2u << 20)) & ~(size_t)((2u << 20) - 1));
    if (!memory) exit(1);
    memset(memory, 0, bytes);
    return memory;
}

/* ---- probes ---- */

static volatile uint64_t sink;

/* Four streams at once: one alone does not keep the memory busy. */
static double probe_memory(const unsigned char *bytes, size_t n) {
    const uint64_t *at = (const uint64_t *)(const void *)bytes;
    const size_t quarter = n / 32 & ~(size_t)7;
    double best = 0;
    for (int pass = 0; pass < 3; pass++) {
        uint64_t sums[8] = {0};
        double start = now();
        for (size_t i = 0; i < quarter; i += 8) {
            for (size_t stream = 0; stream < 4; stream++) {
                const uint64_t *line = at + stream * quarter + i;
                __builtin_prefetch(line + 256);
                sums[2 * stream] += line[0] + line[2] + line[4] + line[6];
                sums[2 * stream + 1] += line[1] + line[3] + line[5] + line[7];
            }
        }
        double rate = (double)n / (now() - start) * 1e-9;
        best = rate > best ? rate : best;
        sink = sums[0] + sums[1] + sums[2] + sums[3] + sums[4] + sums[5] + sums[6] + sums[7];
    }
    return best;
}

#if defined(__x86_64__)
#include <immintrin.h>
#define CHAINS 12
#define PROBE(name, isa, vector, zero, step, ops)                                                  \
    __attribute__((target(isa))) static double name(void) {                                        \
        vector a[CHAINS], x = zero();                                                              \
        _Pragma("GCC unroll 12") for (int i = 0; i < CHAINS; i++) {                                \
            a[i] = zero();                                                                         \
        }                                                                                          \
        double best = 0;                                                                           \
        for (int pass = 0; pass < 5; pass++) {                                                     \
            double start = now();                                                                  \
            for (long n = 0; n < 400000; n++) {                                                    \
                _Pragma("GCC unroll 12") for (int i = 0; i < CHAINS; i++) {                        \
                    a[i] = step(a[i], x, x);                                                       \
                    __asm__ volatile("" : "+v"(a[i]), "+v"(x));                                    \
                }                                                                                  \
            }                                                                                      \
            double rate = 400000.0 * CHAINS * (ops) / (now() - start) * 1e-9;                      \
            best = rate > best ? rate : best;                                                      \
        }                                                                                          \
        return best;                                                                               \
    }
#define FMA256(a, b, c) _mm256_fmadd_ps(b, c, a)
#define FMA512(a, b, c) _mm512_fmadd_ps(b, c, a)
/* maddubs and an add: what a pair of 8-bit products costs without VNNI */
#define PAIR256(a, b, c) _mm256_add_epi16(a, _mm256_maddubs_epi16(b, c))
#define PAIR512(a, b, c) _mm512_add_epi16(a, _mm512_maddubs_epi16(b, c))
PROBE(probe_fma256, "avx2,fma", __m256, _mm256_setzero_ps, FMA256, 16)
PROBE(probe_fma512, "avx512f", __m512, _mm512_setzero_ps, FMA512, 32)
PROBE(probe_pair256, "avx2", __m256i, _mm256_setzero_si256, PAIR256, 64)
PROBE(probe_pair512, "avx512bw", __m512i, _mm512_setzero_si512, PAIR512, 128)
PROBE(probe_vnni, "avx512vnni,avx512f", __m512i, _mm512_setzero_si512, _mm512_dpbusd_epi32, 128)

static double probe_ops(uint32_t features, bool is_float) {
    if (features & POWER_CPU_AVX512) {
        if (is_float) return probe_fma512();
        return features & POWER_CPU_AVX512_VNNI ? probe_vnni() : probe_pair512();
    }
    if (features & POWER_CPU_AVX2) return is_float ? probe_fma256() : probe_pair256();
    return 0;
}
#else
static double probe_ops(uint32_t features, bool is_float) {
    (void)features;
    (void)is_float;
    return 0;
}
#endif

/* ---- products ---- */

static void make_rows(struct power_product *p, uint64_t *state) {
    const uint32_t block = power_dtype_info(p->dtype).block_elements == 256 ? 256 : 32;
    float *x = allocate((size_t)ROWS * K * sizeof(float));
    data_row(DATA_RANDOM, state, ROWS * K, x);
    p->x = x;
    p->x_stride = K;
    p->qx = (struct power_qrows){allocate((size_t)ROWS * K + 64),
                                 allocate((size_t)ROWS * K / block * sizeof(float)),
                                 allocate((size_t)ROWS * K / 16 * sizeof(int16_t)),
                                 K,
                                 K / block,
                                 K / 16,
                                 block};
    for (uint32_t r = 0; r < ROWS; r++) {
        data_qrow(DATA_RANDOM, state, K, block, p->qx.q + (size_t)r * K,
                  p->qx.d + r * p->qx.d_stride, p->qx.bsums + r * p->qx.bsum_stride);
    }
}

/* Seconds of one call over outputs [0, n_outs), in slices as a thread would get them. */
static double time_product(power_product_fn fn, const struct power_product *p, uint32_t n_rows,
                           uint32_t n_outs, void *scratch) {
    double best = 1e9, start = now();
    do {
        double from = now();
        for (uint32_t o = 0; o < n_outs; o += 256) {
            fn(p, 0, n_rows, o, n_outs - o < 256 ? n_outs - o : 256, scratch);
        }
        double seconds = now() - from;
        best = seconds < best ? seconds : best;
    } while (now() - start < MIN_SECONDS);
    return best;
}

static void bench_kernel(power_product_fn fn, struct power_product *p, const char *path,
                         uint32_t features, size_t row_bytes, void *scratch) {
    static const uint16_t counts[] = {1, 2, 4, 8, 16, 64, 512};
    const bool is_float = power_dtype_info(p->dtype).block_elements == 1;
    const unsigned char *bytes = p->packed ? p->packed : p->raw;
    printf("%-5s %-6s %-7s", power_dtype_info(p->dtype).name, path, p->packed ? "packed" : "raw");
    double memory = probe_memory(bytes, p->n_outs * row_bytes);
    printf(" %5.1f of %4.1f GB/s |",
           (double)(p->n_outs * row_bytes) * 1e-9 / time_product(fn, p, 1, p->n_outs, scratch),
           memory);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        const uint32_t n_outs = counts[i] > 16 ? 256 : 1024;
        const double ops = 2.0 * K * n_outs * counts[i];
        printf(" %u: %.0f", counts[i],
               ops / time_product(fn, p, counts[i], n_outs, scratch) * 1e-9);
    }
    printf(" of %.0f Gop/s\n", probe_ops(features, is_float));
    fflush(stdout);
}

static void bench_type(enum power_dtype dtype, void *scratch) {
    static const struct {
        const char *name;
        uint32_t features;
    } paths[] = {{"avx2", POWER_CPU_AVX2},
                 {"avx512", POWER_CPU_AVX2 | POWER_CPU_AVX512},
                 {"vnni", POWER_CPU_AVX2 | POWER_CPU_AVX512 | POWER_CPU_AVX512_VNNI}};
    uint64_t state = 88172645463325252u;
    const struct power_dtype_info info = power_dtype_info(dtype);
    struct power_product p = {.dtype = dtype, .k = K};
    p.raw_stride = (size_t)K / info.block_elements * info.block_bytes;
    p.n_outs = (uint32_t)(WEIGHT_BYTES / p.raw_stride) & ~255u;
    unsigned char *raw = allocate(p.n_outs * p.raw_stride);
    data_weights(dtype, DATA_RANDOM, &state, (size_t)1024 * (K / info.block_elements), raw);
    for (uint32_t o = 1024; o + 1024 <= p.n_outs; o += 1024) {
        memcpy(raw + o * p.raw_stride, raw, 1024 * p.raw_stride);
    }
    make_rows(&p, &state);
    p.y_stride = p.n_outs;
    p.y = allocate((size_t)ROWS * p.y_stride * sizeof(float));
    for (size_t i = 0; i < 3; i++) {
        struct power_cpu_kernels table;
        if (paths[i].features & ~power_cpu_features()) continue;
        power_cpu_kernels_init(&table, paths[i].features);
        p.raw = raw;
        p.packed = NULL;
        bench_kernel(table.product_raw[dtype], &p, paths[i].name, paths[i].features, p.raw_stride,
                     scratch);
        if (!table.product_packed[dtype]) continue;
        const struct power_pack_ops *ops = &table.pack[dtype];
        const size_t bytes = ops->group_bytes(K);
        unsigned char *packed = allocate(p.n_outs / 16 * bytes);
        for (uint32_t g = 0; g < p.n_outs / 16; g++) {
            if (g < 64)
                ops->pack_group(raw, p.raw_stride, K, p.n_outs, g, packed + g * bytes);
            else
                memcpy(packed + g * bytes, packed + g % 64 * bytes, bytes);
        }
        p.raw = NULL;
        p.packed = packed;
        bench_kernel(table.product_packed[dtype], &p, paths[i].name, paths[i].features, bytes / 16,
                     scratch);
        free(packed);
    }
    free(raw);
    free(p.y);
    free(p.qx.q);
    free(p.qx.d);
    free(p.qx.bsums);
}

int main(int argc, char **argv) {
    static const enum power_dtype types[] = {
        POWER_DTYPE_Q8_0,   POWER_DTYPE_Q5_0,  POWER_DTYPE_Q4_0,   POWER_DTYPE_Q4_K,
        POWER_DTYPE_Q5_K,   POWER_DTYPE_Q6_K,  POWER_DTYPE_F32,    POWER_DTYPE_F16,
        POWER_DTYPE_BF16,   POWER_DTYPE_Q4_1,  POWER_DTYPE_Q5_1,   POWER_DTYPE_IQ4_NL,
        POWER_DTYPE_MXFP4,  POWER_DTYPE_NVFP4, POWER_DTYPE_Q1_0,   POWER_DTYPE_Q2_0,
        POWER_DTYPE_Q2_K,   POWER_DTYPE_Q3_K,  POWER_DTYPE_IQ4_XS, POWER_DTYPE_IQ2_XXS,
        POWER_DTYPE_IQ2_XS, POWER_DTYPE_IQ2_S, POWER_DTYPE_IQ3_S,  POWER_DTYPE_IQ3_XXS,
        POWER_DTYPE_IQ1_S,  POWER_DTYPE_IQ1_M, POWER_DTYPE_TQ1_0,  POWER_DTYPE_TQ2_0};
    void *scratch = allocate(POWER_PRODUCT_SCRATCH);
    printf("k %u; one row: weight bytes from memory; row counts: Gop/s, weights in cache\n", K);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (argc > 1 && strcmp(argv[1], power_dtype_info(types[i]).name) != 0) continue;
        bench_type(types[i], scratch);
    }
    free(scratch);
    return 0;
}
