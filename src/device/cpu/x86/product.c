/* SPDX-License-Identifier: MIT */
/* Chooses the product kernels of x86.
 * Input: the features that the CPU has and the mask allows. Output: the table's products replaced.
 * Threads: any, each a table of its own. Bounds: the table. */
#include "device/device.h"

#include "device/cpu/kernels.h"

#if defined(__x86_64__)
#include "device/cpu/x86/product.h"

void power_kernels_x86_product(struct power_cpu_kernels *table, uint32_t features) {
    if (!(features & POWER_CPU_AVX2)) return;
    power_products_avx2(table);
    if (!(features & POWER_CPU_AVX512)) return;
    power_products_avx512(table);
    if (features & POWER_CPU_AVX512_VNNI) power_products_vnni(table);
}
#else
void power_kernels_x86_product(struct power_cpu_kernels *table, uint32_t features) {
    (void)table;
    (void)features;
}
#endif
