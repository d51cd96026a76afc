/* SPDX-License-Identifier: MIT */
/* Chooses the vector kernels of the x86 paths: all but products and attention.
 * Input: the feature mask. Output: the table, upgraded or left alone.
 * Threads: the caller owns the table. Bounds: none. */
#include "device/cpu/x86/paths.h"
#include "device/device.h"

#define USE_PATH(table, isa)                                                                       \
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

void power_kernels_x86_vector(struct power_cpu_kernels *table, uint32_t features) {
#if defined(__x86_64__)
    const uint32_t avx512 = POWER_CPU_AVX2 | POWER_CPU_AVX512;
    if (features & POWER_CPU_AVX2) USE_PATH(table, avx2);
    if ((features & avx512) == avx512) USE_PATH(table, avx512);
#else
    (void)table;
    (void)features;
#endif
}
