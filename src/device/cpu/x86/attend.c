/* SPDX-License-Identifier: MIT */
/* Chooses the attention kernel of the x86 paths.
 * Input: the feature mask. Output: the table's attend, upgraded or left alone.
 * Threads: the caller owns the table. Bounds: none. */
#include "device/cpu/x86/paths.h"
#include "device/device.h"

void power_kernels_x86_attend(struct power_cpu_kernels *table, uint32_t features) {
#if defined(__x86_64__)
    const uint32_t avx512 = POWER_CPU_AVX2 | POWER_CPU_AVX512;
    const uint32_t vnni = avx512 | POWER_CPU_AVX512_VNNI;
    if (features & POWER_CPU_AVX2) table->attend = power_attend_avx2;
    if ((features & avx512) == avx512) table->attend = power_attend_avx512;
    if ((features & vnni) == vnni) table->attend = power_attend_vnni;
#else
    (void)table;
    (void)features;
#endif
}
