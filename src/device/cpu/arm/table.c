/* SPDX-License-Identifier: MIT */
/* Chooses the kernels of the Arm paths.
 * Input: the features that the CPU has and the mask allows. Output: the table, upgraded or left
 * alone. Threads: the caller owns the table. Bounds: the table. */
#include "device/device.h"

#include "device/cpu/arm/paths.h"
#include "device/cpu/x86/paths.h"

#if defined(__aarch64__)
void power_kernels_arm(struct power_cpu_kernels *table, uint32_t features) {
    if (!(features & POWER_CPU_NEON)) return;
    POWER_USE_VECTOR_PATH(table, neon);
    table->attend = power_attend_neon;
    power_products_neon(table);
    if (features & POWER_CPU_DOTPROD) {
        table->attend = power_attend_dotprod;
        power_products_dotprod(table);
    }
    if (features & POWER_CPU_I8MM) power_products_i8mm(table);
}
#else
void power_kernels_arm(struct power_cpu_kernels *table, uint32_t features) {
    (void)table;
    (void)features;
}
#endif
