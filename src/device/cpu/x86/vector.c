/* SPDX-License-Identifier: MIT */
/* Chooses the vector kernels of the x86 paths: all but products and attention.
 * Input: the feature mask. Output: the table, upgraded or left alone.
 * Threads: the caller owns the table. Bounds: none. */
#include "device/cpu/x86/paths.h"
#include "device/device.h"

void power_kernels_x86_vector(struct power_cpu_kernels *table, uint32_t features) {
#if defined(__x86_64__)
    const uint32_t avx512 = POWER_CPU_AVX2 | POWER_CPU_AVX512;
    if (features & POWER_CPU_AVX2) POWER_USE_VECTOR_PATH(table, avx2);
    if ((features & avx512) == avx512) POWER_USE_VECTOR_PATH(table, avx512);
#else
    (void)table;
    (void)features;
#endif
}
