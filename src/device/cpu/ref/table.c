/* SPDX-License-Identifier: MIT */
/* The reference as a kernel table: every operator, every type, no packed layouts.
 * Input: none. Output: the table. Threads: any. Bounds: none. */
#include "device/cpu/ref/ref.h"

/* Types of stored activations decode but have no product. */
static bool has_product(enum power_dtype dtype) {
    return dtype != POWER_DTYPE_Q8_1 && dtype != POWER_DTYPE_Q8_K && power_ref_decoder(dtype);
}

void power_kernels_ref(struct power_cpu_kernels *table) {
    *table = (struct power_cpu_kernels){
        .quantise = power_quantise_f32_ref,
        .max_bits = power_max_bits_f32_ref,
        .rms_norm = power_rms_norm_f32_ref,
        .layer_norm = power_layer_norm_f32_ref,
        .l2_norm = power_l2_norm_f32_ref,
        .softmax = power_softmax_f32_ref,
        .sum = power_sum_f32_ref,
        .sum_exp = power_sum_exp_f32_ref,
        .unary = power_unary_f32_ref,
        .binary = power_binary_f32_ref,
        .binary_scalar = power_binary_scalar_f32_ref,
        .glu = power_glu_f32_ref,
        .rope = power_rope_f32_ref,
        .conv_step = power_conv_step_f32_ref,
        .delta = power_delta_f32_ref,
        .kv_append = power_kv_append_ref,
        .attend = power_attend_ref,
        .dequantise = power_dequantise_ref,
        .matmul = power_matmul_f32_ref,
    };
    for (uint32_t id = 0; id < POWER_DTYPE_LIMIT; id++) {
        if (has_product((enum power_dtype)id)) {
            table->product_raw[id] = power_product_quant_ref;
        }
    }
    table->product_raw[POWER_DTYPE_F32] = power_product_float_ref;
    table->product_raw[POWER_DTYPE_F16] = power_product_float_ref;
    table->product_raw[POWER_DTYPE_BF16] = power_product_float_ref;
}
