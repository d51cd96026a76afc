/* SPDX-License-Identifier: MIT */
/* Recurrences: one step of the gated delta net, one step of the depthwise convolution.
 * Input: a state or history and one row. Output: the row's result, the new state. Threads: any; a
 * head's state belongs to one thread. Bounds: shapes as given. */
#include "device/cpu/ref/ref.h"

#include <math.h>

/* Sum over key index i of column[i * stride] * x[i] by four chains. */
static float chains_of_column(const float *column, size_t stride, const float *x, uint32_t n) {
    float c[4] = {0};
    for (uint32_t i = 0; i < n; i++) {
        c[i % 4] = fmaf(column[i * stride], x[i], c[i % 4]);
    }
    return ((c[0] + c[1]) + (c[2] + c[3])) + 0.0f;
}

/* state [d_k][d_v] */
void power_delta_f32_ref(float *state, uint32_t d_k, uint32_t d_v, const float *q, const float *k,
                         const float *v, float g, float beta, float *out) {
    for (uint32_t j = 0; j < d_v; j++) {
        float *column = state + j;
        for (uint32_t i = 0; i < d_k; i++) {
            column[(size_t)i * d_v] = column[(size_t)i * d_v] * g;
        }
        const float r = chains_of_column(column, d_v, k, d_k);
        const float u = (v[j] - r) * beta;
        for (uint32_t i = 0; i < d_k; i++) {
            column[(size_t)i * d_v] = fmaf(k[i], u, column[(size_t)i * d_v]);
        }
        if (out) {
            out[j] = chains_of_column(column, d_v, q, d_k);
        }
    }
}

/* taps [kernel] rows of [channels], oldest first; a row that does not exist adds nothing. */
void power_conv_step_f32_ref(const float *const *taps, const float *w, uint32_t channels,
                             uint32_t kernel, float *y) {
    for (uint32_t c = 0; c < channels; c++) {
        float sum = 0.0f;
        for (uint32_t j = 0; j < kernel; j++) {
            if (taps[j]) {
                sum = fmaf(w[(size_t)c * kernel + j], taps[j][c], sum);
            }
        }
        y[c] = sum + 0.0f;
    }
}
