/* SPDX-License-Identifier: MIT */
/* The kernel table: the reference, then each upgrade that the features allow.
 * Input: a feature mask. Output: a table in which every pointer but packed products is set.
 * Threads: the caller owns the table. Bounds: none. */
#include "device/cpu/kernels.h"

void power_cpu_kernels_init(struct power_cpu_kernels *table, uint32_t features) {
    power_kernels_ref(table);
    table->features = features;
    power_kernels_x86_product(table, features);
    power_kernels_x86_vector(table, features);
    power_kernels_x86_attend(table, features);
    power_kernels_arm(table, features);
}
