/* SPDX-License-Identifier: MIT */
/* Shared by the throw-away kernels that froze the arithmetic: vectors, the clock, medians, peaks.
 * Input: none. Output: inline functions. Thread: one. Bounds: 64 measurements. */
#ifndef POWER_BENCH_FREEZE_H
#define POWER_BENCH_FREEZE_H

#include "device/cpu/ref/ref.h"

#include <immintrin.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef __AVX512F__
typedef __m512 vec;
#define VL 16
#define FREEZE_ISA "avx512"
#define v_zero _mm512_setzero_ps
#define v_set1 _mm512_set1_ps
#define v_load _mm512_load_ps
#define v_store _mm512_store_ps
#define v_add _mm512_add_ps
#define v_mul _mm512_mul_ps
#define v_sub _mm512_sub_ps
#define v_fma _mm512_fmadd_ps
#define v_max _mm512_max_ps
#else
typedef __m256 vec;
#define VL 8
#define FREEZE_ISA "avx2"
#define v_zero _mm256_setzero_ps
#define v_set1 _mm256_set1_ps
#define v_load _mm256_load_ps
#define v_store _mm256_store_ps
#define v_add _mm256_add_ps
#define v_mul _mm256_mul_ps
#define v_sub _mm256_sub_ps
#define v_fma _mm256_fmadd_ps
#define v_max _mm256_max_ps
#endif

#define UNROLL _Pragma("GCC unroll 16")
#define REPEATS 31

/* Time of this thread alone: other processes on the core do not count. */
static inline double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline int by_value(const void *a, const void *b) {
    double x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

static inline double median(double *values, int n) {
    qsort(values, (size_t)n, sizeof *values, by_value);
    return values[n / 2];
}

static inline uint32_t next_random(void) {
    static uint64_t s = 88172645463325252u;
    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    return (uint32_t)(s >> 32);
}

static inline float random_float(void) {
    return (float)((int32_t)next_random() >> 8) * 0x1p-23f;
}

static inline void *allocate(size_t bytes) {
    void *memory = aligned_alloc(64, (bytes + 127) / 64 * 64);
    if (!memory) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return memory;
}

/* The fma unit's peak: twelve independent chains in registers. GFLOP/s. */
static inline double peak_fma(void) {
    vec a[12];
    const vec x = v_set1(1e-9f);
    const long rounds = 400000;
    UNROLL for (int i = 0; i < 12; i++) {
        a[i] = v_zero();
    }
    const double start = now_s();
    for (long r = 0; r < rounds; r++) {
        UNROLL for (int i = 0; i < 12; i++) {
            a[i] = v_fma(x, x, a[i]);
            __asm__ volatile("" : "+v"(a[i]));
        }
    }
    return (double)rounds * 12 * 2 * VL / (now_s() - start) / 1e9;
}

/* Runs work() between two probes, REPEATS times; prints medians, the median of the quotients, and
 * the quotient of the best rate and the best peak (the median is lower where a neighbour shares the
 * core's units and caches: the probe lives in registers and feels less of it). */
static inline void report(const char *name, double operations, double (*peak)(void),
                          void (*work)(void), const char *unit, int wrong) {
    double rates[REPEATS], peaks[REPEATS], quotients[REPEATS];
    for (int i = 0; i < REPEATS; i++) {
        const double before = peak(), start = now_s();
        work();
        rates[i] = operations / (now_s() - start) / 1e9;
        peaks[i] = (before + peak()) / 2;
        quotients[i] = rates[i] / peaks[i];
    }
    const double rate = median(rates, REPEATS), unit_peak = median(peaks, REPEATS); /* these sort */
    printf("%-7s %-44s %5.0f of %5.0f %s, median %3.0f %%, best %3.0f %%, %s\n", FREEZE_ISA, name,
           rate, unit_peak, unit, 100 * median(quotients, REPEATS),
           100 * rates[REPEATS - 1] / peaks[REPEATS - 1], wrong ? "BITS DIFFER" : "bits equal");
}

#endif
