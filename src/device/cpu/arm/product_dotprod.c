/* SPDX-License-Identifier: MIT */
/* The product kernels compiled for AArch64 with dotprod: signed dot products.
 * Input: a kernel table. Output: its products replaced.
 * Threads: any. Bounds: as in x86/product_quant.h and x86/product_float.h.
 * The order of the headers matters: each uses those before it. */
#define POWER_WIDE_CODES 0
#include "device/cpu/arm/product_vec128.h"

#include "device/cpu/arm/product_transpose.h"

#include "device/cpu/x86/product_tiles.h"

#include "device/cpu/x86/product_quant.h"

#include "device/cpu/x86/product_unpack.h"

#include "device/cpu/x86/product_unpack_planes.h"

#include "device/cpu/x86/product_few.h"

#include "device/cpu/x86/product_float.h"

#include "device/cpu/x86/product_table.h"

#include "device/cpu/arm/paths.h"

/* Types whose tiles read codes of eight bits take the kernels of product_dotprod_wide.c. */
static void take_wide(struct power_cpu_kernels *table, const struct power_cpu_kernels *wide,
                      enum power_dtype dtype, const struct quant_kernel *raw,
                      const struct quant_kernel *packed) {
    if (raw->form.bits == 8) table->product_raw[dtype] = wide->product_raw[dtype];
    if (packed->form.bits == 8) table->product_packed[dtype] = wide->product_packed[dtype];
}

void power_products_dotprod(struct power_cpu_kernels *table) {
    struct power_cpu_kernels wide = {0};
    power_products_dotprod_wide(&wide);
    fill_table(table);
    take_wide(table, &wide, POWER_DTYPE_Q8_0, &raw_q8_0, &packed_q8_0);
#define TAKE(name, NAME, ...)                                                                      \
    take_wide(table, &wide, POWER_DTYPE_##NAME, &raw_##name, &plane_##name);
    POWER_PLANE_TYPES(TAKE)
#undef TAKE
}
