/* SPDX-License-Identifier: MIT */
/* The functions of each vector path, as the files that fill the table see them.
 * Input, output, threads, bounds: as kernels.h says of each function. */
#ifndef POWER_DEVICE_CPU_X86_PATHS_H
#define POWER_DEVICE_CPU_X86_PATHS_H

#include "device/cpu/kernels.h"

#define POWER_DECLARE_VECTOR_PATH(isa)                                                             \
    uint32_t power_quantise_f32_##isa(const float *x, uint32_t k, uint32_t block, int8_t *q,       \
                                      float *d, int16_t *bsums);                                   \
    uint32_t power_max_bits_f32_##isa(const float *x, size_t n);                                   \
    void power_rms_norm_f32_##isa(const float *x, const float *w, uint32_t n, float eps,           \
                                  float *y);                                                       \
    void power_layer_norm_f32_##isa(const float *x, const float *w, const float *b, uint32_t n,    \
                                    float eps, float *y);                                          \
    void power_l2_norm_f32_##isa(const float *x, uint32_t n, float eps, bool eps_inside,           \
                                 float *y);                                                        \
    void power_softmax_f32_##isa(const float *x, uint32_t n, float *y);                            \
    float power_sum_f32_##isa(const float *x, size_t n);                                           \
    float power_sum_exp_f32_##isa(const float *x, size_t n, float m);                              \
    void power_unary_f32_##isa(enum power_op code, const float *x, float *y, size_t n, float f0);  \
    void power_binary_f32_##isa(enum power_op code, const float *a, const float *b, float *y,      \
                                size_t n);                                                         \
    void power_binary_scalar_f32_##isa(enum power_op code, const float *a, float b, float *y,      \
                                       size_t n);                                                  \
    void power_glu_f32_##isa(enum power_activation act, const float *gate, const float *up,        \
                             float *y, size_t n);                                                  \
    void power_rope_f32_##isa(const float *x, float *y, uint32_t n_heads, uint32_t head_dim,       \
                              uint32_t rot_dim, enum power_rope_mode mode, const float *cos,       \
                              const float *sin);                                                   \
    void power_conv_step_f32_##isa(const float *const *taps, const float *w, uint32_t channels,    \
                                   uint32_t kernel, float *y);                                     \
    void power_delta_f32_##isa(float *state, uint32_t d_k, uint32_t d_v, const float *q,           \
                               const float *k, const float *v, float g, float beta, float *out);   \
    uint32_t power_kv_append_##isa(const struct power_kv_layout *layout, unsigned char *layer,     \
                                   uint32_t in_block, const float *k, const float *v);

/* Puts a path's vector kernels into the table. */
#define POWER_USE_VECTOR_PATH(table, isa)                                                          \
    do {                                                                                           \
        (table)->quantise = power_quantise_f32_##isa;                                              \
        (table)->max_bits = power_max_bits_f32_##isa;                                              \
        (table)->rms_norm = power_rms_norm_f32_##isa;                                              \
        (table)->layer_norm = power_layer_norm_f32_##isa;                                          \
        (table)->l2_norm = power_l2_norm_f32_##isa;                                                \
        (table)->softmax = power_softmax_f32_##isa;                                                \
        (table)->sum = power_sum_f32_##isa;                                                        \
        (table)->sum_exp = power_sum_exp_f32_##isa;                                                \
        (table)->unary = power_unary_f32_##isa;                                                    \
        (table)->binary = power_binary_f32_##isa;                                                  \
        (table)->binary_scalar = power_binary_scalar_f32_##isa;                                    \
        (table)->glu = power_glu_f32_##isa;                                                        \
        (table)->rope = power_rope_f32_##isa;                                                      \
        (table)->conv_step = power_conv_step_f32_##isa;                                            \
        (table)->delta = power_delta_f32_##isa;                                                    \
        (table)->kv_append = power_kv_append_##isa;                                                \
    } while (0)

#if defined(__aarch64__)
POWER_DECLARE_VECTOR_PATH(neon)

void power_attend_neon(const struct power_attend *a, uint32_t kv_head, void *scratch);
void power_attend_dotprod(const struct power_attend *a, uint32_t kv_head, void *scratch);
#else
POWER_DECLARE_VECTOR_PATH(avx2)
POWER_DECLARE_VECTOR_PATH(avx512)

void power_attend_avx2(const struct power_attend *a, uint32_t kv_head, void *scratch);
void power_attend_avx512(const struct power_attend *a, uint32_t kv_head, void *scratch);
void power_attend_vnni(const struct power_attend *a, uint32_t kv_head, void *scratch);

#endif

#endif
