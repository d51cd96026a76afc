/* SPDX-License-Identifier: MIT */
/* The functions of each Arm path, as the files that fill the table see them.
 * Input, output, threads, bounds: as kernels.h says of each function. */
#ifndef POWER_DEVICE_CPU_ARM_PATHS_H
#define POWER_DEVICE_CPU_ARM_PATHS_H

#include "device/cpu/kernels.h"

/* One per instruction set: puts its products into the table. */
void power_products_neon(struct power_cpu_kernels *table);
void power_products_dotprod(struct power_cpu_kernels *table);
void power_products_dotprod_wide(struct power_cpu_kernels *table); /* codes may be above 127 */
void power_products_i8mm(struct power_cpu_kernels *table);

#endif
