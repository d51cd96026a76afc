/* SPDX-License-Identifier: MIT */
/* Reductions over one vector by the R-lane rule: sums, norms, softmax.
 * Input: a vector. Output: a value or a vector. Threads: any. Bounds: n may be any length. */
#include "device/cpu/ref/ref.h"

#include <math.h>

/* lane j += lane j + 16, then 8, 4, 2, 1 */
float power_ref_lane_tree(float lanes[POWER_REF_LANES]) {
    for (uint32_t width = POWER_REF_LANES / 2; width > 0; width /= 2) {
        for (uint32_t j = 0; j < width; j++) {
            lanes[j] = lanes[j] + lanes[j + width];
        }
    }
    return lanes[0];
}

float power_sum_f32_ref(const float *x, size_t n) {
    float lanes[POWER_REF_LANES] = {0};
    for (size_t i = 0; i < n; i++) {
        lanes[i % POWER_REF_LANES] = lanes[i % POWER_REF_LANES] + x[i];
    }
    return power_ref_lane_tree(lanes);
}

float power_sum_exp_f32_ref(const float *x, size_t n, float m) {
    float lanes[POWER_REF_LANES] = {0};
    for (size_t i = 0; i < n; i++) {
        lanes[i % POWER_REF_LANES] = lanes[i % POWER_REF_LANES] + power_ref_exp(x[i] - m);
    }
    return power_ref_lane_tree(lanes);
}

/* Sum of (x - m)^2, one fma an element. */
static float sum_of_squares(const float *x, uint32_t n, float m) {
    float lanes[POWER_REF_LANES] = {0};
    for (uint32_t i = 0; i < n; i++) {
        const float e = x[i] - m;
        lanes[i % POWER_REF_LANES] = fmaf(e, e, lanes[i % POWER_REF_LANES]);
    }
    return power_ref_lane_tree(lanes);
}

uint32_t power_max_bits_f32_ref(const float *x, size_t n) {
    uint32_t max = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        bits &= 0x7fffffffu;
        max = bits > max ? bits : max;
    }
    return max;
}

void power_rms_norm_f32_ref(const float *x, const float *w, uint32_t n, float eps, float *y) {
    const float s = 1.0f / sqrtf(sum_of_squares(x, n, 0.0f) / (float)n + eps);
    for (uint32_t i = 0; i < n; i++) {
        const float scaled = x[i] * s;
        y[i] = w ? scaled * w[i] : scaled;
    }
}

void power_layer_norm_f32_ref(const float *x, const float *w, const float *b, uint32_t n, float eps,
                              float *y) {
    const float m = power_sum_f32_ref(x, n) / (float)n;
    const float s = 1.0f / sqrtf(sum_of_squares(x, n, m) / (float)n + eps);
    for (uint32_t i = 0; i < n; i++) {
        float value = (x[i] - m) * s;
        value = w ? value * w[i] : value;
        y[i] = b ? value + b[i] : value;
    }
}

void power_l2_norm_f32_ref(const float *x, uint32_t n, float eps, bool eps_inside, float *y) {
    const float sum = sum_of_squares(x, n, 0.0f);
    const float inside = 1.0f / sqrtf(sum + eps), outside = power_ref_max(sqrtf(sum), eps);
    for (uint32_t i = 0; i < n; i++) {
        y[i] = eps_inside ? x[i] * inside : x[i] / outside;
    }
}

void power_softmax_f32_ref(const float *x, uint32_t n, float *y) {
    float m = -INFINITY;
    for (uint32_t i = 0; i < n; i++) {
        m = power_ref_max(m, x[i]);
    }
    for (uint32_t i = 0; i < n; i++) {
        y[i] = power_ref_exp(x[i] - m);
    }
    const float scale = 1.0f / power_sum_f32_ref(y, n);
    for (uint32_t i = 0; i < n; i++) {
        y[i] = y[i] * scale;
    }
}
