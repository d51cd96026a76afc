/* SPDX-License-Identifier: MIT */
/* The product kernels compiled for AVX2, FMA and F16C.
 * Input: a kernel table. Output: its products replaced.
 * Threads: any. Bounds: as in product_quant.h and product_float.h.
 * The order of the headers matters: each uses those before it. */
#include "device/cpu/x86/product_vec256.h"

#include "device/cpu/x86/product_transpose.h"

#include "device/cpu/x86/product_tiles.h"

#include "device/cpu/x86/product_quant.h"

#include "device/cpu/x86/product_unpack.h"

#include "device/cpu/x86/product_unpack_planes.h"

#include "device/cpu/x86/product_few.h"

#include "device/cpu/x86/product_float.h"

#include "device/cpu/x86/product_table.h"

void power_products_avx2(struct power_cpu_kernels *table) {
    fill_table(table);
}
