/* SPDX-License-Identifier: MIT */
/* Which kernel each type has, on the instruction set of the including file.
 * Input: a kernel table. Output: its products replaced. Threads: any. Bounds: the table.
 * Included once by each instruction set's file, after the other product headers. */
#ifndef POWER_DEVICE_CPU_X86_PRODUCT_TABLE_H
#define POWER_DEVICE_CPU_X86_PRODUCT_TABLE_H

SUPER_TILES(4, 8, 1)
SUPER_TILES(5, 8, 1)
SUPER_TILES(6, 16, 0)
SUPER_TILES(4, 16, 1)
SUPER_TILES(4, 16, 0)
SUPER_TILES(4, 8, 0)
SUPER_TILES(5, 8, 0)
SUPER_TILES(5, 16, 0)
SUPER_TILES(8, 8, 0)
SUPER_TILES(8, 16, 0)
BLOCK_TILES(4, 0)
BLOCK_TILES(5, 0)
BLOCK_TILES(8, 0)
BLOCK_TILES(4, 1)
BLOCK_TILES(5, 1)
HALF_TILES(5, 12)
HALF_TILES(8, 128)

#define PRODUCT(name, kernel)                                                                      \
    static void name(const struct power_product *p, uint32_t row, uint32_t n_rows, uint32_t out,   \
                     uint32_t n_outs, void *scratch) {                                             \
        run_product(p, &(kernel), row, n_rows, out, n_outs, scratch);                              \
    }

/* unit_bytes: raw bytes of 256 weights */
#define RAW(name, NAME, tiles, unit_bytes, ...)                                                    \
    static const struct power_quant_form form_##name = {__VA_ARGS__};                              \
    static const uint8_t *unpack_raw_##name(const struct power_product *p, uint32_t group,         \
                                            uint32_t unit, uint32_t n, struct unit *u,             \
                                            struct power_row_unit *rows) {                         \
        return unpack_raw(p, group, unit, n, u, rows, POWER_DTYPE_##NAME, &form_##name,            \
                          unit_bytes);                                                             \
    }                                                                                              \
    static const struct quant_kernel raw_##name = {                                                \
        {__VA_ARGS__}, unpack_raw_##name, &(tiles), NULL};                                         \
    PRODUCT(product_raw_##name, raw_##name)
#define BOTH(name, NAME, tiles, unit_bytes, ...)                                                   \
    RAW(name, NAME, tiles, unit_bytes, __VA_ARGS__)                                                \
    static const struct quant_kernel packed_##name = {                                             \
        {__VA_ARGS__}, unpack_##name, &(tiles), few_##name};                                       \
    PRODUCT(product_packed_##name, packed_##name)

/* form: super, bits, subs, offset, has_min */
BOTH(q8_0, Q8_0, block_8_0_0, 8 * 34, 0, 8, 0, 128, 0)
BOTH(q4_0, Q4_0, block_4_0_0, 8 * 18, 0, 4, 0, 8, 0)
BOTH(q5_0, Q5_0, block_5_0_0, 8 * 22, 0, 5, 0, 16, 0)
BOTH(q4_k, Q4_K, super_4_8_1, 144, 1, 4, 8, 0, 1)
BOTH(q5_k, Q5_K, super_5_8_1, 176, 1, 5, 8, 0, 1)
BOTH(q6_k, Q6_K, super_6_16_0, 210, 1, 6, 16, 0, 0)
RAW(q4_1, Q4_1, block_4_0_1, 8 * 20, 0, 4, 0, 0, 1)
RAW(q5_1, Q5_1, block_5_0_1, 8 * 24, 0, 5, 0, 0, 1)
RAW(iq4_nl, IQ4_NL, block_8_0_0, 8 * 18, 0, 8, 0, 128, 0)
RAW(q2_k, Q2_K, super_4_16_1, 84, 1, 4, 16, 0, 1)
RAW(q3_k, Q3_K, super_4_16_0, 110, 1, 4, 16, 0, 0)
RAW(iq4_xs, IQ4_XS, super_8_8_0, 136, 1, 8, 8, 0, 0)
RAW(iq2_xxs, IQ2_XXS, super_8_16_0, 66, 1, 8, 16, 0, 0)
RAW(iq2_xs, IQ2_XS, super_8_16_0, 74, 1, 8, 16, 0, 0)
RAW(iq2_s, IQ2_S, super_8_16_0, 82, 1, 8, 16, 0, 0)
RAW(iq3_xxs, IQ3_XXS, super_8_16_0, 98, 1, 8, 16, 0, 0)
RAW(iq3_s, IQ3_S, super_8_16_0, 110, 1, 8, 16, 0, 0)
RAW(iq1_s, IQ1_S, super_8_16_0, 50, 1, 8, 16, 0, 0)
RAW(iq1_m, IQ1_M, super_8_16_0, 56, 1, 8, 16, 0, 0)
RAW(tq1_0, TQ1_0, super_8_16_0, 54, 1, 8, 16, 0, 0)
RAW(tq2_0, TQ2_0, super_8_16_0, 66, 1, 8, 16, 0, 0)
RAW(mxfp4, MXFP4, block_8_0_0, 8 * 17, 0, 8, 0, 128, 0)
RAW(nvfp4, NVFP4, half_8_128_0, 4 * 36, 0, 8, 16, 128, 0)
RAW(q1_0, Q1_0, block_8_0_0, 2 * 18, 0, 8, 0, 128, 0)
RAW(q2_0, Q2_0, block_8_0_0, 4 * 18, 0, 8, 0, 128, 0)

/* Packed as bit planes: a tile of the narrowest codes that hold the type's values. */
#define PLANES(name, NAME, low, high, codes, scales, block, d_at, factor, tiles, ...)              \
    static const struct power_quant_form plane_form_##name = {__VA_ARGS__};                        \
    static const uint8_t *unpack_plane_##name(const struct power_product *p, uint32_t group,       \
                                              uint32_t unit, uint32_t n, struct unit *u,           \
                                              struct power_row_unit *rows) {                       \
        (void)rows;                                                                                \
        return unpack_planes(p, group, unit, n, u, low, high, PLANE_##codes, PLANE_##scales,       \
                             block, (float)(factor), &plane_form_##name);                          \
    }                                                                                              \
    static const struct quant_kernel plane_##name = {                                              \
        {__VA_ARGS__}, unpack_plane_##name, &(tiles), NULL};                                       \
    PRODUCT(product_packed_##name, plane_##name)
POWER_PLANE_TYPES(PLANES)

#define FLOAT_PRODUCT(name, weight)                                                                \
    static const struct float_kernel kernel_##name = {float_##name, wide_##name, weight};          \
    static const struct float_kernel kernel_raw_##name = {float_f32, NULL, weight};                \
    static void product_packed_##name(const struct power_product *p, uint32_t row,                 \
                                      uint32_t n_rows, uint32_t out, uint32_t n_outs,              \
                                      void *scratch) {                                             \
        run_float(p, &kernel_##name, row, n_rows, out, n_outs, scratch);                           \
    }                                                                                              \
    static void product_raw_##name(const struct power_product *p, uint32_t row, uint32_t n_rows,   \
                                   uint32_t out, uint32_t n_outs, void *scratch) {                 \
        run_float(p, &kernel_raw_##name, row, n_rows, out, n_outs, scratch);                       \
    }
FLOAT_PRODUCT(f32, WEIGHT_F32)
FLOAT_PRODUCT(f16, WEIGHT_F16)
FLOAT_PRODUCT(bf16, WEIGHT_BF16)

static void fill_table(struct power_cpu_kernels *table) {
#define FILL(name, NAME)                                                                           \
    table->product_raw[POWER_DTYPE_##NAME] = product_raw_##name;                                   \
    table->product_packed[POWER_DTYPE_##NAME] = product_packed_##name;                             \
    table->pack[POWER_DTYPE_##NAME] = power_pack_ops_of(POWER_DTYPE_##NAME)
    FILL(q8_0, Q8_0);
    FILL(q4_0, Q4_0);
    FILL(q5_0, Q5_0);
    FILL(q4_k, Q4_K);
    FILL(q5_k, Q5_K);
    FILL(q6_k, Q6_K);
    FILL(f32, F32);
    FILL(f16, F16);
    FILL(bf16, BF16);
#undef FILL
#define FILL(name, NAME, ...)                                                                      \
    table->product_raw[POWER_DTYPE_##NAME] = product_raw_##name;                                   \
    table->product_packed[POWER_DTYPE_##NAME] = product_packed_##name;                             \
    table->pack[POWER_DTYPE_##NAME] = power_plane_ops_of(POWER_DTYPE_##NAME);
    POWER_PLANE_TYPES(FILL)
#undef FILL
}

#endif
