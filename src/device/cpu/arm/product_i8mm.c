/* SPDX-License-Identifier: MIT */
/* The product kernels compiled for AArch64 with i8mm: unsigned by signed dot products.
 * Input: a kernel table. Output: its products replaced.
 * Threads: any. Bounds: as in x86/product_quant.h and x86/product_float.h.
 * The order of the headers matters: each uses those before it. */
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

void power_products_i8mm(struct power_cpu_kernels *table) {
    fill_table(table);
}
