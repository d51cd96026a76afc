/* SPDX-License-Identifier: MIT */
/* Throw-away kernel: F32 product by the R-chain (kc = 256) against the peak of the fma unit.
 * Input: none. Output: one line a shape. Thread: one. Bounds: shapes are multiples of the tile. */
#include "freeze.h"

enum {
    NV = 2,
    NB = NV * VL,
#ifdef __AVX512F__
    MR = 12
#else
    MR = 6
#endif
};

static uint32_t m_rows, n_outs, k_len;
static float *x, *w, *packed, *y, *wanted;

/* One segment of a tile of MR rows and NB outputs. */
static inline void tile(const float *xs, const float *p, float *o, uint32_t n, int first) {
    vec a[MR][NV];
    UNROLL for (int i = 0; i < MR; i++) {
        UNROLL for (int j = 0; j < NV; j++) {
            a[i][j] = v_zero();
        }
    }
    for (uint32_t k = 0; k < n; k++) {
        vec b[NV];
        UNROLL for (int j = 0; j < NV; j++) {
            b[j] = v_load(p + (size_t)k * NB + j * VL);
        }
        UNROLL for (int i = 0; i < MR; i++) {
            const vec s = v_set1(xs[(size_t)i * k_len + k]);
            UNROLL for (int j = 0; j < NV; j++) {
                a[i][j] = v_fma(s, b[j], a[i][j]);
            }
        }
    }
    UNROLL for (int i = 0; i < MR; i++) {
        UNROLL for (int j = 0; j < NV; j++) {
            float *at = o + (size_t)i * n_outs + j * VL;
            v_store(at, first ? v_add(a[i][j], v_zero()) : v_add(v_load(at), a[i][j]));
        }
    }
}

static void product(void) {
    for (uint32_t k = 0; k < k_len; k += 256) {
        const uint32_t n = k_len - k < 256 ? k_len - k : 256;
        for (uint32_t o = 0; o < n_outs; o += NB) {
            for (uint32_t m = 0; m < m_rows; m += MR) {
                tile(x + (size_t)m * k_len + k, packed + (size_t)o * k_len + (size_t)k * NB,
                     y + (size_t)m * n_outs + o, n, k == 0);
            }
        }
    }
}

static void measure(uint32_t m, uint32_t n, uint32_t k) {
    m_rows = m;
    n_outs = n;
    k_len = k;
    x = allocate(sizeof(float) * m * k);
    w = allocate(sizeof(float) * n * k);
    packed = allocate(sizeof(float) * n * k);
    y = allocate(sizeof(float) * m * n);
    wanted = allocate(sizeof(float) * m * n);
    for (uint32_t i = 0; i < m * k; i++) {
        x[i] = random_float();
    }
    for (uint32_t i = 0; i < n * k; i++) {
        w[i] = random_float();
        packed[(size_t)(i / k / NB) * NB * k + (size_t)(i % k) * NB + i / k % NB] = w[i];
    }
    const struct power_product p = {.dtype = POWER_DTYPE_F32,
                                    .raw = (const unsigned char *)w,
                                    .raw_stride = sizeof(float) * k,
                                    .k = k,
                                    .n_outs = n,
                                    .x = x,
                                    .x_stride = k,
                                    .y = wanted,
                                    .y_stride = n};
    void *scratch = allocate(POWER_PRODUCT_SCRATCH);
    power_product_float_ref(&p, 0, m, 0, n, scratch);
    product();
    char name[64];
    snprintf(name, sizeof name, "F32 product %u x %u x %u", m, n, k);
    report(name, 2.0 * m * n * k, peak_fma, product, "GFLOP/s",
           memcmp(y, wanted, sizeof(float) * m * n));
    free(scratch);
    free(x);
    free(w);
    free(packed);
    free(y);
    free(wanted);
}

int main(void) {
    measure(132, 384, 384);
    measure(132, 1536, 384);
    measure(132, 384, 1536);
    measure(516, 768, 768);
    return 0;
}
