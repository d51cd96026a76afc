/* SPDX-License-Identifier: MIT */
/* Attention over 4,096 keys: each path and KV type, with the machine's FMA peak measured beside it.
 * Input: optionally key count, head size, a path, a KV type. Output: a table on stdout. Threads:
 * one. Bounds: at most 65,536 keys, head size at most 256. */
#include <immintrin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "device/cpu/kernels.h"
#include "device/device.h"

enum { PEAK_CHAINS = 10, PEAK_ROUNDS = 200000, REPEATS = 60 };

/* Seconds that this thread ran: other processes on the machine do not count. */
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* GFLOP/s of independent fma chains that never leave the registers. */
__attribute__((target("avx2,fma"))) static double peak_avx2(void) {
    __m256 a[PEAK_CHAINS], x = _mm256_set1_ps(1e-9f);
#pragma GCC unroll 16
    for (int i = 0; i < PEAK_CHAINS; i++)
        a[i] = x;
    const double start = now();
    for (int r = 0; r < PEAK_ROUNDS; r++) {
#pragma GCC unroll 16
        for (int i = 0; i < PEAK_CHAINS; i++) {
            __m256 sum = _mm256_fmadd_ps(x, x, a[i]);
            __asm__ volatile("" : "+x"(sum));
            a[i] = sum;
        }
    }
    return 2.0 * 8 * PEAK_CHAINS * PEAK_ROUNDS / (now() - start) * 1e-9;
}

__attribute__((target("avx512f"))) static double peak_avx512(void) {
    __m512 a[PEAK_CHAINS], x = _mm512_set1_ps(1e-9f);
#pragma GCC unroll 16
    for (int i = 0; i < PEAK_CHAINS; i++)
        a[i] = x;
    const double start = now();
    for (int r = 0; r < PEAK_ROUNDS; r++) {
#pragma GCC unroll 16
        for (int i = 0; i < PEAK_CHAINS; i++) {
            __m512 sum = _mm512_fmadd_ps(x, x, a[i]);
            __asm__ volatile("" : "+v"(sum));
            a[i] = sum;
        }
    }
    return 2.0 * 16 * PEAK_CHAINS * PEAK_ROUNDS / (now() - start) * 1e-9;
}

static const struct path {
    const char *name;
    uint32_t features;
    double (*peak)(void);
} paths[] = {{"avx2", POWER_CPU_AVX2, peak_avx2},
             {"avx512", POWER_CPU_AVX2 | POWER_CPU_AVX512, peak_avx512},
             {"vnni", POWER_CPU_AVX2 | POWER_CPU_AVX512 | POWER_CPU_AVX512_VNNI, peak_avx512}};

static const struct kv_type {
    const char *name;
    enum power_dtype dtype;
} kv_types[] = {{"f32", POWER_DTYPE_F32}, {"f16", POWER_DTYPE_F16}, {"q8_0", POWER_DTYPE_Q8_0}};

static const struct company {
    uint32_t rows, group;
} companies[] = {{1, 1}, {1, 7}, {16, 1}, {16, 7}};

static void *room(size_t bytes) {
    void *p = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!p) {
        fprintf(stderr, "bench_attend: no memory for %zu bytes\n", bytes);
        exit(1);
    }
    return p;
}

static void fill(float *x, size_t n, uint32_t seed) {
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)((int32_t)seed >> 8) * 0x1p-23f;
    }
}

static struct power_kv_layout layout_of(enum power_dtype dtype, uint32_t head_dim) {
    const struct power_piece piece = {.kind = POWER_PIECE_KV,
                                      .n_layers = 1,
                                      .n_kv_heads = 1,
                                      .k_dim = head_dim,
                                      .v_dim = head_dim,
                                      .kv_dtype = dtype};
    struct power_kv_layout layout;
    if (!power_kv_layout_init(&layout, &piece)) {
        fprintf(stderr, "bench_attend: head size %u does not fit the KV type\n", head_dim);
        exit(2);
    }
    return layout;
}

/* Seconds of one call and the peak, each the best of a few taken in turn: a neighbour on the same
 * core disturbs both alike. */
static double time_attend(const struct power_attend *a, power_attend_fn attend, void *scratch,
                          double (*peak)(void), double *out_peak) {
    double best = 1e9;
    *out_peak = 0;
    for (int i = 0; i < REPEATS; i++) {
        const double start = now();
        uint32_t calls = 0;
        do {
            attend(a, 0, scratch);
            calls++;
        } while (now() - start < 0.001);
        const double each = (now() - start) / calls, rate = peak();
        best = each < best ? each : best;
        *out_peak = rate > *out_peak ? rate : *out_peak;
    }
    return best;
}

static void bench_type(const struct path *path, const struct kv_type *type, uint32_t n_keys,
                       uint32_t head_dim) {
    const struct power_kv_layout layout = layout_of(type->dtype, head_dim);
    const uint32_t n_blocks = (n_keys + 63) / 64;
    unsigned char *pool = room(n_blocks * layout.block_bytes);
    uint32_t *blocks = room(n_blocks * sizeof *blocks);
    float *q = room(16 * 7 * (size_t)head_dim * sizeof *q), *out = room(16 * 7 * 256 * sizeof *out);
    void *scratch = room(POWER_ATTEND_SCRATCH);
    struct power_cpu_kernels table;
    power_kernels_ref(&table);
    power_kernels_x86_vector(&table, path->features);
    power_kernels_x86_attend(&table, path->features);
    fill(q, 16 * 7 * (size_t)head_dim, 1);
    for (uint32_t i = 0; i < n_blocks; i++)
        blocks[i] = i;
    for (uint32_t key = 0; key < n_keys; key++) {
        float k[256], v[256];
        fill(k, head_dim, key);
        fill(v, head_dim, ~key);
        (void)table.kv_append(&layout, pool + key / 64 * layout.block_bytes, key % 64, k, v);
    }
    for (size_t i = 0; i < sizeof companies / sizeof companies[0]; i++) {
        const struct company *c = &companies[i];
        const struct power_attend a = {.layout = &layout,
                                       .pool = pool,
                                       .blocks = blocks,
                                       .n_heads = c->group,
                                       .scale = 0.1f,
                                       .q = q,
                                       .q_stride = (size_t)c->group * head_dim,
                                       .out = out,
                                       .out_stride = (size_t)c->group * head_dim,
                                       .first_pos = n_keys - c->rows,
                                       .n_rows = c->rows};
        double peak;
        const double seconds = time_attend(&a, table.attend, scratch, path->peak, &peak);
        const double flops = 4.0 * c->rows * c->group * n_keys * head_dim;
        const double bytes = (double)(n_blocks * layout.block_bytes);
        const double rate = flops / seconds * 1e-9;
        printf("%-7s %-5s %4u %5u %9.1f GFLOP/s %7.1f peak %5.1f %% %7.1f GB/s of KV\n", path->name,
               type->name, c->rows, c->group, rate, peak, 100 * rate / peak,
               bytes / seconds * 1e-9);
    }
    free(pool);
    free(blocks);
    free(q);
    free(out);
    free(scratch);
}

int main(int argc, char **argv) {
    const unsigned long n_keys = argc > 1 ? strtoul(argv[1], NULL, 10) : 4096;
    const unsigned long head_dim = argc > 2 ? strtoul(argv[2], NULL, 10) : 128;
    if (n_keys < 16 || n_keys > 65536 || head_dim < 1 || head_dim > 256) {
        fprintf(stderr, "bench_attend: keys 16 to 65536, head size 1 to 256\n");
        return 2;
    }
    const char *only_path = argc > 3 ? argv[3] : "", *only_type = argc > 4 ? argv[4] : "";
    printf("%lu keys, head size %lu, one kv head, one thread\n", n_keys, head_dim);
    printf("path    kv    rows group\n");
    for (size_t p = 0; p < sizeof paths / sizeof paths[0]; p++) {
        if ((power_cpu_features() & paths[p].features) != paths[p].features) continue;
        if (*only_path && strcmp(only_path, paths[p].name) != 0) continue;
        for (size_t t = 0; t < sizeof kv_types / sizeof kv_types[0]; t++) {
            if (*only_type && strcmp(only_type, kv_types[t].name) != 0) continue;
            bench_type(&paths[p], &kv_types[t], (uint32_t)n_keys, (uint32_t)head_dim);
        }
    }
    return 0;
}
