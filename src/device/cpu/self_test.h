/* SPDX-License-Identifier: MIT */
/* The start-up self-test of kernels that the project's tests never ran on such hardware.
 * Input: a kernel table. Output: whether it gives the reference's bits. Threads: each call needs
 * working space of its own. Bounds: the struct below and POWER_PRODUCT_SCRATCH bytes. */
#ifndef POWER_DEVICE_CPU_SELF_TEST_H
#define POWER_DEVICE_CPU_SELF_TEST_H

#include "device/cpu/kernels.h"

/* Outputs: 64 for the kernels of a few rows, and a group that is not full. */
#define POWER_SELF_TEST_K 256u
#define POWER_SELF_TEST_ROWS 8u
#define POWER_SELF_TEST_OUTS 69u
#define POWER_SELF_TEST_FIRST_OUT 64u /* of all rows but one */

struct power_self_test_work {
    _Alignas(
        64) unsigned char packed[(POWER_SELF_TEST_OUTS + 15) / 16 * 16 * POWER_SELF_TEST_K * 4];
    _Alignas(64) int8_t q[2][(POWER_SELF_TEST_ROWS + 1) * POWER_SELF_TEST_K];
    unsigned char raw[POWER_SELF_TEST_OUTS * POWER_SELF_TEST_K * 4];
    float d[2][POWER_SELF_TEST_ROWS * POWER_SELF_TEST_K / 32];
    int16_t sums[2][POWER_SELF_TEST_ROWS * POWER_SELF_TEST_K / 16];
    float x[POWER_SELF_TEST_ROWS * POWER_SELF_TEST_K];
    float wanted[8 * POWER_SELF_TEST_K], got[8 * POWER_SELF_TEST_K];
    struct power_qrows rows[2]; /* blocks of 32, of 256 */
};

/* What the parts of the test share. */
struct power_self_test {
    const struct power_cpu_kernels *table, *reference;
    struct power_self_test_work *work;
    void *scratch;
};

/* True when every kernel that it runs gives the reference's bits. The thread is in the kernels'
 * floating-point environment (power_fp_enter). scratch: POWER_PRODUCT_SCRATCH bytes, 64-aligned. */
bool power_kernels_self_test(const struct power_cpu_kernels *table,
                             struct power_self_test_work *work, void *scratch);

/* Fills the table by `init` (power_cpu_kernels_init but in tests), without the instruction sets of
 * POWER_CPU_SELF_TESTED that fail the test, the newest left out first. Returns those. */
typedef void (*power_kernels_init_fn)(struct power_cpu_kernels *table, uint32_t features);
uint32_t power_kernels_init_tested(power_kernels_init_fn init, struct power_cpu_kernels *table,
                                   uint32_t features, struct power_self_test_work *work,
                                   void *scratch);

#endif
