/* SPDX-License-Identifier: MIT */
/* Float products by the R-chain: fma chains over segments of 256, added in ascending order.
 * Input: F32, F16 or BF16 weights (or a second matrix), rows of x. Output: y. Threads: any, each
 * with its own scratch. Bounds: k may be any length. */
#include "device/cpu/ref/ref.h"

#include <math.h>

#define SEGMENT 256u
#define ROW_TILE 1024u

static float chain(const float *x, const float *w, uint32_t n) {
    float sum = 0.0f;
    for (uint32_t i = 0; i < n; i++) {
        sum = fmaf(x[i], w[i], sum);
    }
    return sum;
}

/* One weight row against rows of x; sums[r] = R-chain without the closing + 0. */
static void product_row(const struct power_product *p, const unsigned char *weights, uint32_t row,
                        uint32_t n_rows, float *sums) {
    const uint32_t bytes = power_dtype_info(p->dtype).block_bytes;
    for (uint32_t first = 0; first < p->k; first += SEGMENT) {
        const uint32_t n = p->k - first < SEGMENT ? p->k - first : SEGMENT;
        float w[SEGMENT];
        power_dequantise_ref(p->dtype, weights + (size_t)first * bytes, n, w);
        for (uint32_t r = 0; r < n_rows; r++) {
            const size_t from = p->x_rows ? p->x_rows[row + r] : row + r;
            const float part = chain(p->x + from * p->x_stride + first, w, n);
            sums[r] = first == 0 ? part : sums[r] + part;
        }
    }
}

void power_product_float_ref(const struct power_product *p, uint32_t row, uint32_t n_rows,
                             uint32_t out, uint32_t n_outs, void *scratch) {
    float *sums = scratch; /* [ROW_TILE] */
    for (uint32_t o = out; o < out + n_outs; o++) {
        const unsigned char *weights = p->raw + (size_t)o * p->raw_stride;
        for (uint32_t first = 0; first < n_rows; first += ROW_TILE) {
            const uint32_t n = n_rows - first < ROW_TILE ? n_rows - first : ROW_TILE;
            memset(sums, 0, n * sizeof *sums);
            product_row(p, weights, row + first, n, sums);
            for (uint32_t r = 0; r < n; r++) {
                p->y[(size_t)(row + first + r) * p->y_stride + o] = sums[r] + 0.0f;
            }
        }
    }
}

/* a [m][k], b [k][n], y [m][n] */
/* One row of a by one column of b, whose elements are n floats apart. */
static float row_by_column(const float *row, const float *column, uint32_t k, uint32_t n) {
    float sum = 0.0f, part = 0.0f;
    for (uint32_t c = 0; c < k; c++) {
        part = fmaf(row[c], column[(size_t)c * n], part);
        if ((c + 1) % SEGMENT == 0 || c + 1 == k) {
            sum = c < SEGMENT ? part : sum + part;
            part = 0.0f;
        }
    }
    return sum + 0.0f;
}

void power_matmul_f32_ref(const float *a, const float *b, float *y, uint32_t m, uint32_t k,
                          uint32_t n) {
    for (uint32_t i = 0; i < m; i++) {
        for (uint32_t j = 0; j < n; j++) {
            y[(size_t)i * n + j] = row_by_column(a + (size_t)i * k, b + j, k, n);
        }
    }
}
