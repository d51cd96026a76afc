/* SPDX-License-Identifier: MIT */
/* Inside the reference: the integers of a weight block, and the functions of each file.
 * Input: raw blocks and rows of checked shape. Output: the defined bits. Threads: any; nothing here
 * keeps state. Bounds: as kernels.h. */
#ifndef POWER_DEVICE_CPU_REF_REF_H
#define POWER_DEVICE_CPU_REF_REF_H

#include "device/cpu/kernels.h"
#include "device/cpu/ref/math.h"

/* One block of a quantised weight type, of info.block_elements elements (at most 256). The value of
 * element i is (dw[i / step] * sub[i / 16]) * code[i], then - min[i / 16] * dmin (256-element
 * types) or + m (Q4_1, Q5_1). Products need only sums of sub * code * x, so every type shares one
 * product. */
struct power_ref_unit {
    uint32_t step; /* elements of one float step: 256, 32 or 16 */
    bool has_min;  /* 256-element types: min and dmin count */
    bool has_m;    /* 32-element types: m counts */
    float dw[8];   /* [block elements / step] */
    float dmin, m;
    int16_t sub[16]; /* [block elements / 16] */
    int16_t min[16];
    int8_t code[256];
};

typedef void (*power_ref_decode_fn)(const unsigned char *block, struct power_ref_unit *out);
/* NULL for types that are not quantised weights. */
power_ref_decode_fn power_ref_decoder(enum power_dtype dtype);

void power_ref_decode_q4_0(const unsigned char *block, struct power_ref_unit *out);
void power_ref_decode_q4_1(const unsigned char *block, struct power_ref_unit *out);
void power_ref_decode_q5_0(const unsigned char *block, struct power_ref_unit *out);
void power_ref_decode_q5_1(const unsigned char *block, struct power_ref_unit *out);
void power_ref_decode_q8_0(const unsigned char *block, struct power_ref_unit *out);
void power_ref_decode_q8_1(const unsigned char *block, struct power_ref_unit *out);
void power_ref_decode_iq4_nl(const unsigned char *block, struct power_ref_unit *out);
void power_ref_decode_mxfp4(const unsigned char *block, struct power_ref_unit *out);
void power_ref_decode_nvfp4(const unsigned char *block, struct power_ref_unit *out);
void power_ref_decode_q1_0(const unsigned char *block, struct power_ref_unit *out);
void power_ref_decode_q2_0(const unsigned char *block, struct power_ref_unit *out);
void power_ref_decode_q2_k(const unsigned char *block, struct power_ref_unit *out);
void power_ref_decode_q3_k(const unsigned char *block, struct power_ref_unit *out);
void power_ref_decode_q4_k(const unsigned char *block, struct power_ref_unit *out);
void power_ref_decode_q5_k(const unsigned char *block, struct power_ref_unit *out);
void power_ref_decode_q6_k(const unsigned char *block, struct power_ref_unit *out);
void power_ref_decode_q8_k(const unsigned char *block, struct power_ref_unit *out);
void power_ref_decode_tq1_0(const unsigned char *block, struct power_ref_unit *out);
void power_ref_decode_tq2_0(const unsigned char *block, struct power_ref_unit *out);
void power_ref_decode_iq4_xs(const unsigned char *block, struct power_ref_unit *out);
void power_ref_decode_iq2_xxs(const unsigned char *block, struct power_ref_unit *out);
void power_ref_decode_iq2_xs(const unsigned char *block, struct power_ref_unit *out);
void power_ref_decode_iq2_s(const unsigned char *block, struct power_ref_unit *out);
void power_ref_decode_iq3_xxs(const unsigned char *block, struct power_ref_unit *out);
void power_ref_decode_iq3_s(const unsigned char *block, struct power_ref_unit *out);
void power_ref_decode_iq1_s(const unsigned char *block, struct power_ref_unit *out);
void power_ref_decode_iq1_m(const unsigned char *block, struct power_ref_unit *out);

/* Grids of the IQ types, one row of 8 (IQ3: 4) codes an entry (tables_iq.c, generated). */
extern const int8_t power_iq2_xxs_grid[256][8];
extern const int8_t power_iq2_xs_grid[512][8];
extern const int8_t power_iq2_s_grid[1024][8];
extern const int8_t power_iq3_xxs_grid[256][4];
extern const int8_t power_iq3_s_grid[512][4];
extern const int8_t power_iq1_grid[2048][8];
/* The 16 values of IQ4_NL and IQ4_XS, and the doubled E2M1 values of MXFP4 and NVFP4. */
extern const int8_t power_iq4_values[16];
extern const int8_t power_e2m1_doubled[16];

static inline uint16_t power_ref_u16(const unsigned char *at) {
    return (uint16_t)(at[0] | at[1] << 8);
}
static inline float power_ref_half_at(const unsigned char *at) {
    return power_half_to_float(power_ref_u16(at));
}

/* Functions of the table, in the order of kernels.h. */
uint32_t power_quantise_f32_ref(const float *x, uint32_t k, uint32_t block, int8_t *q, float *d,
                                int16_t *bsums);
uint32_t power_max_bits_f32_ref(const float *x, size_t n);
void power_rms_norm_f32_ref(const float *x, const float *w, uint32_t n, float eps, float *y);
void power_layer_norm_f32_ref(const float *x, const float *w, const float *b, uint32_t n, float eps,
                              float *y);
void power_l2_norm_f32_ref(const float *x, uint32_t n, float eps, bool eps_inside, float *y);
void power_softmax_f32_ref(const float *x, uint32_t n, float *y);
float power_sum_f32_ref(const float *x, size_t n);
float power_sum_exp_f32_ref(const float *x, size_t n, float m);
void power_unary_f32_ref(enum power_op code, const float *x, float *y, size_t n, float f0);
void power_binary_f32_ref(enum power_op code, const float *a, const float *b, float *y, size_t n);
void power_binary_scalar_f32_ref(enum power_op code, const float *a, float b, float *y, size_t n);
void power_glu_f32_ref(enum power_activation act, const float *gate, const float *up, float *y,
                       size_t n);
void power_rope_f32_ref(const float *x, float *y, uint32_t n_heads, uint32_t head_dim,
                        uint32_t rot_dim, enum power_rope_mode mode, const float *cos,
                        const float *sin);
void power_conv_step_f32_ref(const float *const *taps, const float *w, uint32_t channels,
                             uint32_t kernel, float *y);
void power_delta_f32_ref(float *state, uint32_t d_k, uint32_t d_v, const float *q, const float *k,
                         const float *v, float g, float beta, float *out);
uint32_t power_kv_append_ref(const struct power_kv_layout *layout, unsigned char *layer,
                             uint32_t in_block, const float *k, const float *v);
void power_attend_ref(const struct power_attend *a, uint32_t kv_head, void *scratch);
void power_dequantise_ref(enum power_dtype dtype, const unsigned char *raw, uint64_t k, float *y);
void power_matmul_f32_ref(const float *a, const float *b, float *y, uint32_t m, uint32_t k,
                          uint32_t n);
void power_product_float_ref(const struct power_product *p, uint32_t row, uint32_t n_rows,
                             uint32_t out, uint32_t n_outs, void *scratch);
void power_product_quant_ref(const struct power_product *p, uint32_t row, uint32_t n_rows,
                             uint32_t out, uint32_t n_outs, void *scratch);

/* Shared inside the reference: lanes of R-lane, and its closing tree. */
#define POWER_REF_LANES 32u
float power_ref_lane_tree(float lanes[POWER_REF_LANES]);
/* The greater of two; a NaN in either wins. */
static inline float power_ref_max(float a, float b) {
    return (a > b || a != a) ? a : b;
}
static inline float power_ref_min(float a, float b) {
    return (a < b || a != a) ? a : b;
}

#endif
