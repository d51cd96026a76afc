/* SPDX-License-Identifier: MIT */
/* Quantised products, weight values, and the quantiser of activation rows.
 * Input: raw weight blocks; rows of x. Output: y as ARITHMETIC "Quantised products" defines, for
 * every quantised type. Threads: any, each with its own scratch. Bounds: k is a multiple of the
 * block. */
#include "device/cpu/ref/ref.h"

#include <assert.h>
#include <math.h>

power_ref_decode_fn power_ref_decoder(enum power_dtype dtype) {
    static const power_ref_decode_fn decoders[POWER_DTYPE_LIMIT] = {
        [POWER_DTYPE_Q4_0] = power_ref_decode_q4_0,
        [POWER_DTYPE_Q4_1] = power_ref_decode_q4_1,
        [POWER_DTYPE_Q5_0] = power_ref_decode_q5_0,
        [POWER_DTYPE_Q5_1] = power_ref_decode_q5_1,
        [POWER_DTYPE_Q8_0] = power_ref_decode_q8_0,
        [POWER_DTYPE_Q8_1] = power_ref_decode_q8_1,
        [POWER_DTYPE_Q2_K] = power_ref_decode_q2_k,
        [POWER_DTYPE_Q3_K] = power_ref_decode_q3_k,
        [POWER_DTYPE_Q4_K] = power_ref_decode_q4_k,
        [POWER_DTYPE_Q5_K] = power_ref_decode_q5_k,
        [POWER_DTYPE_Q6_K] = power_ref_decode_q6_k,
        [POWER_DTYPE_Q8_K] = power_ref_decode_q8_k,
        [POWER_DTYPE_IQ2_XXS] = power_ref_decode_iq2_xxs,
        [POWER_DTYPE_IQ2_XS] = power_ref_decode_iq2_xs,
        [POWER_DTYPE_IQ2_S] = power_ref_decode_iq2_s,
        [POWER_DTYPE_IQ3_XXS] = power_ref_decode_iq3_xxs,
        [POWER_DTYPE_IQ3_S] = power_ref_decode_iq3_s,
        [POWER_DTYPE_IQ1_S] = power_ref_decode_iq1_s,
        [POWER_DTYPE_IQ1_M] = power_ref_decode_iq1_m,
        [POWER_DTYPE_IQ4_NL] = power_ref_decode_iq4_nl,
        [POWER_DTYPE_IQ4_XS] = power_ref_decode_iq4_xs,
        [POWER_DTYPE_TQ1_0] = power_ref_decode_tq1_0,
        [POWER_DTYPE_TQ2_0] = power_ref_decode_tq2_0,
        [POWER_DTYPE_MXFP4] = power_ref_decode_mxfp4,
        [POWER_DTYPE_NVFP4] = power_ref_decode_nvfp4,
        [POWER_DTYPE_Q1_0] = power_ref_decode_q1_0,
        [POWER_DTYPE_Q2_0] = power_ref_decode_q2_0,
    };
    return (unsigned)dtype < POWER_DTYPE_LIMIT ? decoders[dtype] : NULL;
}

/* ---- values of weights ---- */

static void dequantise_unit(const struct power_ref_unit *unit, uint32_t n, float *y) {
    for (uint32_t i = 0; i < n; i++) {
        const float scale = unit->dw[i / unit->step] * (float)unit->sub[i / 16];
        const float value = scale * (float)unit->code[i];
        if (unit->has_min) {
            y[i] = value - unit->dmin * (float)unit->min[i / 16];
        } else {
            y[i] = unit->has_m ? value + unit->m : value;
        }
    }
}

static void dequantise_blocks(enum power_dtype dtype, const unsigned char *raw, uint64_t k,
                              float *y) {
    const struct power_dtype_info info = power_dtype_info(dtype);
    const power_ref_decode_fn decode = power_ref_decoder(dtype);
    assert(decode && k % info.block_elements == 0);
    for (uint64_t b = 0; b < k / info.block_elements; b++) {
        struct power_ref_unit unit;
        decode(raw + b * info.block_bytes, &unit);
        dequantise_unit(&unit, info.block_elements, y + b * info.block_elements);
    }
}

void power_dequantise_ref(enum power_dtype dtype, const unsigned char *raw, uint64_t k, float *y) {
    if (dtype == POWER_DTYPE_F32) {
        memcpy(y, raw, (size_t)k * sizeof *y);
    } else if (dtype == POWER_DTYPE_F16) {
        for (uint64_t i = 0; i < k; i++) {
            y[i] = power_ref_half_at(raw + 2 * i);
        }
    } else if (dtype == POWER_DTYPE_BF16) {
        for (uint64_t i = 0; i < k; i++) {
            y[i] = power_bfloat_to_float(power_ref_u16(raw + 2 * i));
        }
    } else {
        dequantise_blocks(dtype, raw, k, y);
    }
}

/* ---- quantiser ---- */

static void quantise_block(const float *x, uint32_t n, float amax, int8_t *q, float *d) {
    /* amax that is no number is reported by the caller's return value; q is kept defined. */
    if (!(amax >= 0x1p-94f && amax < INFINITY)) {
        *d = amax < 0x1p-94f ? 0.0f : amax;
        memset(q, 0, n);
        return;
    }
    const float id = 127.0f / amax;
    *d = amax / 127.0f;
    for (uint32_t i = 0; i < n; i++) {
        q[i] = (int8_t)rintf(x[i] * id);
    }
}

uint32_t power_quantise_f32_ref(const float *x, uint32_t k, uint32_t block, int8_t *q, float *d,
                                int16_t *bsums) {
    uint32_t max_bits = 0;
    for (uint32_t b = 0; b < k / block; b++) {
        const uint32_t bits = power_max_bits_f32_ref(x + (size_t)b * block, block);
        float amax;
        memcpy(&amax, &bits, sizeof amax);
        quantise_block(x + (size_t)b * block, block, amax, q + (size_t)b * block, d + b);
        max_bits = bits > max_bits ? bits : max_bits;
    }
    for (uint32_t s = 0; s < k / 16; s++) {
        int sum = 0;
        for (uint32_t i = 0; i < 16; i++) {
            sum += q[(size_t)s * 16 + i];
        }
        bsums[s] = (int16_t)sum;
    }
    return max_bits;
}

/* ---- products ---- */

#define ROW_TILE 1024u /* rows that share one decoding of a weight block */

/* Exact sum of sub * code * x over `n` elements from element `first` of the unit. */
static int32_t integer_sum(const struct power_ref_unit *unit, uint32_t first, uint32_t n,
                           const int8_t *x) {
    int32_t sum = 0;
    for (uint32_t i = first; i < first + n; i += 16) {
        int32_t part = 0;
        for (uint32_t j = 0; j < 16; j++) {
            part += unit->code[i + j] * x[i + j];
        }
        sum += unit->sub[i / 16] * part;
    }
    return sum;
}

/* 256-element types: one chain. q, bsums: those of the super-block. */
static void add_super_block(const struct power_ref_unit *unit, const int8_t *q,
                            const int16_t *bsums, float da, float *chain) {
    const int32_t isum = integer_sum(unit, 0, 256, q);
    *chain = fmaf(unit->dw[0] * da, (float)isum, *chain);
    if (!unit->has_min) {
        return;
    }
    int32_t msum = 0;
    for (uint32_t s = 0; s < 16; s++) {
        msum += unit->min[s] * bsums[s];
    }
    *chain = fmaf(-(unit->dmin * da), (float)msum, *chain);
}

/* Types with a float step per 32 or 16: step number s of the row goes to chain s mod 4. `element`
 * is the unit's first element in the row; q, d and bsums are those of the row. */
static void add_steps(const struct power_ref_unit *unit, uint32_t n, uint32_t element,
                      const int8_t *q, const float *d, const int16_t *bsums, float chains[4]) {
    for (uint32_t first = 0; first < n; first += unit->step) {
        const uint32_t at = element + first;
        const float da = d[at / 32];
        float *chain = &chains[at / unit->step % 4];
        const int32_t isum = integer_sum(unit, first, unit->step, q + element);
        *chain = fmaf(unit->dw[first / unit->step] * da, (float)isum, *chain);
        if (unit->has_m) {
            const int32_t bsum = bsums[at / 16] + bsums[at / 16 + 1];
            *chain = fmaf(unit->m * da, (float)bsum, *chain);
        }
    }
}

static void add_unit(const struct power_product *p, const struct power_ref_unit *unit, uint32_t n,
                     uint32_t element, uint32_t row, float chains[4]) {
    const size_t from = p->x_rows ? p->x_rows[row] : row;
    const int8_t *q = p->qx.q + from * p->qx.q_stride;
    const float *d = p->qx.d + from * p->qx.d_stride;
    const int16_t *bsums = p->qx.bsums + from * p->qx.bsum_stride;
    if (unit->step == 256) {
        add_super_block(unit, q + element, bsums + element / 16, d[element / 256], &chains[0]);
    } else {
        add_steps(unit, n, element, q, d, bsums, chains);
    }
}

/* Output o of n <= ROW_TILE rows, each weight block decoded once. */
static void rows_of_output(const struct power_product *p, uint32_t first, uint32_t n, uint32_t o,
                           float (*chains)[4]) {
    const struct power_dtype_info info = power_dtype_info(p->dtype);
    const power_ref_decode_fn decode = power_ref_decoder(p->dtype);
    const unsigned char *weights = p->raw + (size_t)o * p->raw_stride;
    memset(chains, 0, n * sizeof *chains);
    for (uint32_t u = 0; u < p->k / info.block_elements; u++) {
        struct power_ref_unit unit;
        decode(weights + (size_t)u * info.block_bytes, &unit);
        for (uint32_t r = 0; r < n; r++) {
            add_unit(p, &unit, info.block_elements, u * info.block_elements, first + r, chains[r]);
        }
    }
    for (uint32_t r = 0; r < n; r++) {
        const float *c = chains[r];
        p->y[(size_t)(first + r) * p->y_stride + o] = ((c[0] + c[1]) + (c[2] + c[3])) + 0.0f;
    }
}

void power_product_quant_ref(const struct power_product *p, uint32_t row, uint32_t n_rows,
                             uint32_t out, uint32_t n_outs, void *scratch) {
    for (uint32_t o = out; o < out + n_outs; o++) {
        for (uint32_t first = 0; first < n_rows; first += ROW_TILE) {
            const uint32_t n = n_rows - first < ROW_TILE ? n_rows - first : ROW_TILE;
            rows_of_output(p, row + first, n, o, scratch);
        }
    }
}
